package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// stable are the versions that a server serves unless it is asked for more (pkg/controlplane/instance.go).
var stable = regexp.MustCompile(`^v[0-9]+$`)

// published is what a release's source publishes of discovery: api/discovery/*.json of k8s.io/kubernetes, with every
// version that it can serve.
func published(folder string) map[schema.GroupVersion][]metav1.APIResource {
	found := map[schema.GroupVersion][]metav1.APIResource{}
	files, err := filepath.Glob(filepath.Join(folder, "api*__v*.json"))
	check(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		var list metav1.APIResourceList
		check(json.Unmarshal(text, &list))
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		check(err)
		found[version] = list.APIResources
	}
	return found
}

// served has, for each kind ("group/version/Kind") that a server serves by default, the number of its Go type, whether
// it is namespaced, and whether objects of it can be created.
func served(w *walker, folder string) map[string][]interface{} {
	made := map[string][]interface{}{}
	for version, resources := range published(folder) {
		if !stable.MatchString(version.Version) {
			continue
		}
		for _, each := range resources {
			if strings.Contains(each.Name, "/") {
				continue
			}
			gvk := version.WithKind(each.Kind)
			obj, err := owner(gvk.Group).scheme.New(gvk)
			check(err)
			creatable := slices.Contains(each.Verbs, "create")
			made[label(gvk)] = []interface{}{w.one(reflect.TypeOf(obj).Elem()), each.Namespaced, creatable}
		}
	}
	return made
}
