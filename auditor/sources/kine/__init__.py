"""kine: k3s and RKE2 without etcd, as an SQLite database or as text exported from another database."""
