package main

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver/scheme"
)

// table is what the auditor reads: auditor/builtin/scheme.json.
type table struct {
	// Scheme is how each scheme calls itself in its errors, by the group that it owns; "" is that of all others.
	Schemes map[string]string `json:"schemes"`
	// Into has, for the internal form of each stored kind ("group/Kind"), its Go name and what converts to it.
	Into map[string]into `json:"into"`
	// Kinds has the number of the type of each registered kind ("group/version/Kind"), or its name where no stored
	// kind can be made of it.
	Kinds map[string]interface{} `json:"kinds"`
	// Served: see served.
	Served map[string][]interface{} `json:"served"`
	// Types: see one.
	Types [][]interface{} `json:"types"`
	// Messages are those of protobuf that messages.json lacks, in its form.
	Messages map[string]string `json:"messages"`
}

type into struct {
	Type     int      `json:"type"`
	Plural   string   `json:"plural"`
	Versions []string `json:"versions"`
}

type walker struct {
	numbers map[reflect.Type]int
	types   [][]interface{}
}

var (
	ownJSON = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()
	ownText = reflect.TypeOf((*encoding.TextUnmarshaler)(nil)).Elem()
)

// one returns the number of a type: [shape, name, more ...]. Pointers are left out, null is taken everywhere.
//
//	struct [JSON name (behind those of embedded structs, with dots), type, ...]; list item; map item; custom, string, bool, int bits, uint bits, float bits, bytes, any
func (w *walker) one(t reflect.Type) int {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if number, ok := w.numbers[t]; ok {
		return number
	}
	number := len(w.types)
	w.numbers[t] = number
	w.types = append(w.types, nil)
	w.types[number] = w.describe(t)
	return number
}

func (w *walker) describe(t reflect.Type) []interface{} {
	name := t.String()
	if reflect.PointerTo(t).Implements(ownJSON) {
		return []interface{}{"custom", name}
	}
	if reflect.PointerTo(t).Implements(ownText) {
		return []interface{}{"text", name}
	}
	switch t.Kind() {
	case reflect.Struct:
		fields := []interface{}{}
		for _, field := range w.fields(t) {
			fields = append(fields, field.name, w.one(field.kind))
		}
		return []interface{}{"struct", name, fields}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return []interface{}{"bytes", name}
		}
		return []interface{}{"list", name, w.one(t.Elem())}
	case reflect.Map:
		return []interface{}{"map", name, w.one(t.Elem())}
	case reflect.String:
		return []interface{}{"string", name}
	case reflect.Bool:
		return []interface{}{"bool", name}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return []interface{}{"int", name, t.Bits()}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return []interface{}{"uint", name, t.Bits()}
	case reflect.Float32, reflect.Float64:
		return []interface{}{"float", name, t.Bits()}
	}
	return []interface{}{"any", name}
}

type field struct {
	name string
	kind reflect.Type
}

// fields are those that encoding/json fills, the ones of embedded structs among them; a name nearer to the top hides others.
func (w *walker) fields(t reflect.Type) []field {
	var own, inner []field
	seen := map[string]bool{}
	for i := range t.NumField() {
		each := t.Field(i)
		name, _, _ := strings.Cut(each.Tag.Get("json"), ",")
		if name == "-" && each.Tag.Get("json") == "-" {
			continue
		}
		kind := each.Type
		for kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if each.Anonymous && name == "" && kind.Kind() == reflect.Struct {
			for _, one := range w.fields(kind) {
				inner = append(inner, field{each.Name + "." + one.name, one.kind})
			}
			continue
		}
		if !each.IsExported() {
			continue
		}
		if name == "" {
			name = each.Name
		}
		own = append(own, field{name, each.Type})
		seen[name] = true
	}
	for _, each := range inner {
		name := each.name[strings.LastIndex(each.name, ".")+1:]
		if !seen[name] {
			own = append(own, each)
			seen[name] = true
		}
	}
	return own
}

func tables(discovery string) table {
	w := &walker{numbers: map[reflect.Type]int{}}
	made := table{Schemes: map[string]string{}, Into: map[string]into{}, Kinds: map[string]interface{}{}}
	convertible := map[string]bool{}
	made.Schemes[""] = servers[0].scheme.Name()
	made.Schemes["apiregistration.k8s.io"] = servers[1].scheme.Name()
	made.Schemes["apiextensions.k8s.io"] = servers[2].scheme.Name()
	for _, each := range storedKinds() {
		scheme := owner(each.internal.Group).scheme
		versions := []string{}
		for _, gvk := range each.versions {
			versions = append(versions, label(gvk))
			convertible[label(gvk)] = true
		}
		obj, err := scheme.New(each.internal)
		check(err)
		plural, _ := meta.UnsafeGuessKindToResource(each.internal)
		made.Into[each.internal.Group+"/"+each.internal.Kind] = into{w.one(reflect.TypeOf(obj).Elem()), plural.Resource, versions}
	}
	for _, each := range servers {
		labels := map[string]reflect.Type{}
		var names []string
		for gvk, t := range each.scheme.AllKnownTypes() {
			if owner(gvk.Group).scheme != each.scheme || gvk.Version == runtime.APIVersionInternal {
				continue
			}
			labels[label(gvk)] = t
			names = append(names, label(gvk))
		}
		sort.Strings(names)
		for _, name := range names {
			if made.Kinds[name] = labels[name].String(); convertible[name] {
				made.Kinds[name] = w.one(labels[name])
			}
		}
	}
	made.Served = served(w, discovery)
	made.Types = w.types
	made.Messages = map[string]string{}
	for _, version := range []string{"v1", "v1beta1"} {
		gvk := schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: version, Kind: "APIService"}
		obj, err := aggregator.Scheme.New(gvk)
		check(err)
		message(made.Messages, reflect.TypeOf(obj).Elem())
	}
	return made
}

// message adds a protobuf message to a table and returns its name there.
func message(found map[string]string, t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	name := strings.Join(parts[len(parts)-2:], "/") + "." + t.Name()
	if t.Name() == "ObjectMeta" || found[name] != "" {
		return name
	}
	var fields []string
	for i := range t.NumField() {
		each := t.Field(i)
		tag := strings.Split(each.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue
		}
		key, options, _ := strings.Cut(each.Tag.Get("json"), ",")
		omit := ""
		if strings.Contains(options, "omitempty") {
			omit = "e"
		}
		kind := each.Type
		if kind.Kind() == reflect.Pointer {
			kind, omit = kind.Elem(), omit+"p"
		}
		many := ""
		if kind.Kind() == reflect.Slice && kind.Elem().Kind() != reflect.Uint8 {
			kind, many = kind.Elem(), "[]"
		}
		fields = append(fields, strings.Join([]string{tag[1], key, many + short(found, kind), omit, each.Name}, ":"))
	}
	found[name] = strings.Join(fields, " ")
	return name
}

func short(found map[string]string, t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "s"
	case reflect.Int32:
		return "i"
	case reflect.Int64:
		return "l"
	case reflect.Bool:
		return "b"
	case reflect.Slice:
		return "y"
	}
	if t.Name() == "Time" {
		return "T"
	}
	return message(found, t)
}
