package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// seed is a drawn object of one kind and version, encoded.
type seed struct {
	Into  string `json:"into"`
	Kind  string `json:"kind"`
	Form  string `json:"form"`
	Value []byte `json:"value"`
}

// drawer fills objects: about half of what may be absent is, texts are short.
func drawer(number int64) *randfill.Filler {
	return randfill.NewWithSeed(number).NilChance(0.6).NumElements(1, 2).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) {
			*s = []string{"", "a", "web", "kube-system", "\u00e9t\u00e9"}[c.Intn(5)]
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(1_700_000_000+int64(c.Intn(1e6)), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.MicroTime{Time: time.Unix(1_700_000_000, int64(c.Intn(1e6))*1000)}
		},
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse([]string{"1", "100m", "64Mi", "1500", "2e3"}[c.Intn(5)])
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = []intstr.IntOrString{intstr.FromInt32(80), intstr.FromString("25%")}[c.Intn(2)]
		},
		func(d *metav1.Duration, c randfill.Continue) { d.Duration = time.Duration(c.Intn(100)) * time.Second },
		func(raw *runtime.RawExtension, c randfill.Continue) { raw.Raw = []byte(`{"a":1}`) },
		func(raw *metav1.FieldsV1, c randfill.Continue) { *raw = metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)} },
		func(m *metav1.TypeMeta, c randfill.Continue) {},
	)
}

func seeds() []seed {
	var made []seed
	number := int64(1)
	for _, each := range storedKinds() {
		scheme := owner(each.internal.Group).scheme
		for _, gvk := range each.versions {
			for _, form := range []string{"protobuf", "json"} {
				number++
				if gvk.Group == "apiextensions.k8s.io" && form == "protobuf" {
					continue // no server writes it
				}
				obj, err := scheme.New(gvk)
				check(err)
				if gvk.Group != "apiextensions.k8s.io" {
					drawer(number).Fill(obj)
				}
				obj.GetObjectKind().SetGroupVersionKind(gvk)
				if holder, ok := obj.(metav1.ObjectMetaAccessor); ok {
					holder.GetObjectMeta().SetName(fmt.Sprintf("one-%d", rand.New(rand.NewSource(number)).Intn(100)))
				}
				var out bytes.Buffer
				if form == "json" {
					err = json.NewSerializerWithOptions(nil, nil, nil, json.SerializerOptions{}).Encode(obj, &out)
				} else {
					err = protobuf.NewSerializer(nil, nil).Encode(obj, &out)
				}
				if protobuf.IsNotMarshalable(err) {
					continue
				}
				check(err)
				made = append(made, seed{each.internal.Group + "/" + each.internal.Kind, label(gvk), form, out.Bytes()})
			}
		}
	}
	return made
}
