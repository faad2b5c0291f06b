package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/recognizer"
)

// stored decodes what etcd holds of custom resources: JSON, or CBOR where a value begins with its tag.
var stored runtime.Decoder = recognizer.NewDecoder(
	cbor.NewSerializer(unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper()),
	unstructured.UnstructuredJSONScheme,
)

// reading is an object as the server reads it, with what the read did to it.
type reading struct {
	object            *unstructured.Unstructured
	pruned, defaulted []string
}

// place says where a value stands, where it does not say so itself.
type place struct {
	Version  string `json:"version,omitempty"`
	Resource string `json:"resource,omitempty"`
}

// locate finds the version to read a value at.
func (c catalog) locate(value []byte, at place) (*version, error) {
	var head struct{ APIVersion, Kind string }
	headErr := json.Unmarshal(value, &head)
	group, err := schema.ParseGroupVersion(head.APIVersion)
	if headErr == nil {
		headErr = err
	}
	var d *definition
	switch {
	case at.Resource != "":
		d = c.byResource(at.Resource)
	case headErr == nil:
		d = c.byKind(schema.GroupKind{Group: group.Group, Kind: head.Kind})
	}
	if d == nil && at.Resource == "" && len(c) == 1 {
		d = c[0]
	}
	if d == nil {
		return nil, fmt.Errorf("no definition of %s %s %s", at.Resource, head.APIVersion, head.Kind)
	}
	if d.unusable != nil {
		return nil, fmt.Errorf("unusable definition %s: %w", d.resource, d.unusable)
	}
	name := at.Version
	if name == "" {
		name = d.storage
		if headErr == nil && group.Group == d.kind.Group && d.versions[group.Version] != nil {
			name = group.Version
		}
	}
	if d.versions[name] == nil {
		return nil, fmt.Errorf("%s has no version %q", d.resource, name)
	}
	return d.versions[name], nil
}

// read does what the storage of custom resources does to a stored value: decode, fit it to the schema of the version it
// is stored at, fill in defaults, convert it to this version, fit it to the schema of this one.
func (v *version) read(value []byte) (*reading, error) {
	decoded, err := decode(value)
	if err != nil {
		return nil, err
	}
	r := &reading{object: decoded}
	if err := r.fit(v.of, true, true); err != nil {
		return nil, err
	}
	r.fill(v.of, true)
	return r, r.transform(v)
}

func decode(value []byte) (*unstructured.Unstructured, error) {
	decoded, _, err := stored.Decode(value, nil, &unstructured.Unstructured{})
	if err != nil {
		return nil, err
	}
	object, ok := decoded.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("a %T, not an object", decoded)
	}
	return object, nil
}

// fit makes an object fit the schema of the version that it says it has: metadata, unknown fields, nulls, embedded
// metadata. A lenient read, that of storage, drops malformed metadata and mends a missing generation.
func (r *reading) fit(d *definition, lenient, track bool) error {
	content := r.object.Object
	kind, hasKind, err := unstructured.NestedString(content, "kind")
	if err != nil {
		return err
	}
	apiVersion, hasVersion, err := unstructured.NestedString(content, "apiVersion")
	if err != nil {
		return err
	}
	options := objectmeta.ObjectMetaOptions{DropMalformedFields: lenient, ReturnUnknownFieldPaths: track}
	meta, hasMeta, unknown, err := objectmeta.GetObjectMetaWithOptions(content, options)
	if err != nil {
		return err
	}
	r.pruned = append(r.pruned, unknown...)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return err
	}
	if gv.Group == d.kind.Group && kind == d.kind.Kind {
		if err := r.fitSchema(d, d.schemas[gv.Version], lenient, track); err != nil {
			return err
		}
		if lenient {
			mendGeneration(meta)
		}
	}
	if hasKind {
		r.object.SetKind(kind)
	}
	if hasVersion {
		r.object.SetAPIVersion(apiVersion)
	}
	if !hasMeta {
		return nil
	}
	return objectmeta.SetObjectMeta(content, meta)
}

func (r *reading) fitSchema(d *definition, s *structural.Structural, lenient, track bool) error {
	content := r.object.Object
	if !d.preserves {
		paths := structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: track}
		r.pruned = append(r.pruned, pruning.PruneWithOptions(content, s, true, paths)...)
		defaulting.PruneNonNullableNullsWithoutDefaults(content, s)
	}
	options := objectmeta.CoerceOptions{DropInvalidFields: lenient, ReturnUnknownFieldPaths: track}
	failure, unknown := objectmeta.CoerceWithOptions(nil, content, s, false, options)
	if failure != nil {
		return failure
	}
	r.pruned = append(r.pruned, unknown...)
	return nil
}

// mendGeneration panics where there are no metadata, as the server does.
func mendGeneration(meta *metav1.ObjectMeta) {
	if meta.Generation == 0 {
		meta.Generation = 1
	}
}

// fill fills in defaults.
func (r *reading) fill(d *definition, track bool) {
	gvk := r.object.GroupVersionKind()
	if gvk.GroupKind() != d.kind {
		return
	}
	if !track {
		defaulting.Default(r.object.Object, d.schemas[gvk.Version])
		return
	}
	before := r.object.DeepCopy().Object
	defaulting.Default(r.object.Object, d.schemas[gvk.Version])
	r.defaulted = filled(before, r.object.Object, "", nil)
}

// transform brings an object to a version, and makes it fit there.
func (r *reading) transform(v *version) error {
	from := r.object.GroupVersionKind().GroupVersion()
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(v.of.kind.WithVersion(v.name))
	to := out.GroupVersionKind().GroupVersion()
	if err := v.of.convert.Convert(r.object, out, nil); err != nil {
		return err
	}
	if v.of.webhook && from != to && len(r.object.Object) != 2 {
		return fmt.Errorf("%s to %s needs the conversion webhook of %s", from, to, v.of.resource)
	}
	r.object = out
	return r.fit(v.of, false, from != to)
}

// filled appends the paths at which after has something that before has not.
func filled(before, after interface{}, path string, found []string) []string {
	switch after := after.(type) {
	case map[string]interface{}:
		was, ok := before.(map[string]interface{})
		if !ok {
			return append(found, path)
		}
		names := make([]string, 0, len(after))
		for name := range after {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			below := name
			if path != "" {
				below = path + "." + name
			}
			if _, ok := was[name]; !ok {
				found = append(found, below)
			} else {
				found = filled(was[name], after[name], below, found)
			}
		}
	case []interface{}:
		was, ok := before.([]interface{})
		if !ok {
			return append(found, path)
		}
		for i := range after {
			found = filled(was[i], after[i], path+"["+strconv.Itoa(i)+"]", found)
		}
	default:
		if before == nil && after != nil {
			found = append(found, path)
		}
	}
	return found
}
