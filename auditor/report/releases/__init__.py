"""What a report says of releases: removed and deprecated versions of kinds, the release that a dump shows."""
