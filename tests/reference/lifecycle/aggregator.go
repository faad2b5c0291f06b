package main

import aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"

func init() { more = append(more, aggregator.AddToScheme) }
