package main

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// admitted is what the server says to a definition that is created.
type admitted struct {
	Unreadable string    `json:"unreadable,omitempty"`
	Findings   []finding `json:"findings"`
	Warnings   []string  `json:"warnings,omitempty"`
}

// admit asks the strategy of definitions.
func admit(document []byte) (out admitted) {
	out.Findings = []finding{}
	defer func() {
		if caught := recover(); caught != nil {
			out = admitted{Unreadable: fmt.Sprint("panic: ", caught), Findings: []finding{}}
		}
	}()
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder(apiextensions.SchemeGroupVersion)
	decoded, _, err := decoder.Decode(document, nil, nil)
	if err != nil {
		out.Unreadable = err.Error()
		return out
	}
	ctx := context.Background()
	strategy := customresourcedefinition.NewStrategy(scheme)
	strategy.PrepareForCreate(ctx, decoded)
	out.Findings = findings(strategy.Validate(ctx, decoded))
	out.Warnings = strategy.WarningsOnCreate(ctx, decoded)
	return out
}
