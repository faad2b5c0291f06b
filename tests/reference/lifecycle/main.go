// Command lifecycle prints what the types of the libraries say of themselves: [introduced, deprecated, removed,
// replacement] by "group/version/Kind"; a part that a type does not say is empty.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

type introduced interface{ APILifecycleIntroduced() (int, int) }
type deprecated interface{ APILifecycleDeprecated() (int, int) }
type removed interface{ APILifecycleRemoved() (int, int) }
type replaced interface {
	APILifecycleReplacement() schema.GroupVersionKind
}

// more are versions that the scheme of clients lacks.
var more = []func(*runtime.Scheme) error{apiextensions.AddToScheme}

func main() {
	for _, add := range more {
		check(add(scheme.Scheme))
	}
	found := map[string][]string{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(gvk.Kind, "List") {
			continue
		}
		obj, err := scheme.Scheme.New(gvk)
		check(err)
		if strings.HasPrefix(reflect.TypeOf(obj).Elem().PkgPath(), "k8s.io/apimachinery/") {
			continue // options and events of a watch, which every version has
		}
		row := []string{"", "", "", ""}
		if one, ok := obj.(introduced); ok {
			row[0] = minor(one.APILifecycleIntroduced())
		}
		if one, ok := obj.(deprecated); ok {
			row[1] = minor(one.APILifecycleDeprecated())
		}
		if one, ok := obj.(removed); ok {
			row[2] = minor(one.APILifecycleRemoved())
		}
		if one, ok := obj.(replaced); ok {
			instead := one.APILifecycleReplacement()
			row[3] = instead.Group + "/" + instead.Version + "/" + instead.Kind
		}
		found[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind] = row
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	check(out.Encode(found))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "lifecycle:", err)
		os.Exit(1)
	}
}

func minor(major, minor int) string { return fmt.Sprintf("%d.%d", major, minor) }
