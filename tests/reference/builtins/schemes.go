package main

import (
	"fmt"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	_ "k8s.io/kubernetes/pkg/apis/admission/install"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/extensions/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/imagepolicy/install"
	_ "k8s.io/kubernetes/pkg/apis/lifecycle/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// server is one scheme of an API server, and in which form it stores objects.
type server struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	media  string
}

// servers are the three that a kube-apiserver holds.
var servers = []server{
	{legacyscheme.Scheme, legacyscheme.Codecs, runtime.ContentTypeProtobuf},
	{aggregator.Scheme, aggregator.Codecs, runtime.ContentTypeJSON},
	{apiextensions.Scheme, apiextensions.Codecs, runtime.ContentTypeJSON},
}

// owner returns the server that keeps objects of a group.
func owner(group string) server {
	switch group {
	case "apiregistration.k8s.io":
		return servers[1]
	case "apiextensions.k8s.io":
		return servers[2]
	}
	return servers[0]
}

// codec is what the storage of a group reads and writes with.
func codec(group string, storage schema.GroupVersion) runtime.Codec {
	of := owner(group)
	made, _, err := serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType:  of.media,
		StorageSerializer: of.codecs,
		StorageVersion:    storage,
		MemoryVersion:     schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal},
		Config:            storagebackend.Config{},
	})
	check(err)
	return made
}

type question struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Value []byte `json:"value"`
}

type answer struct {
	Error     string `json:"error,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

var known = map[string]runtime.Codec{}

// decode reads a value as the storage of a kind does before a list.
func decode(asked question) (found answer) {
	defer func() {
		if failed := recover(); failed != nil {
			found = answer{Error: fmt.Sprintf("panic: %v", failed)}
		}
	}()
	if known[asked.Group] == nil {
		known[asked.Group] = codec(asked.Group, schema.GroupVersion{Group: asked.Group, Version: "v1"})
	}
	internal := schema.GroupVersionKind{Group: asked.Group, Version: runtime.APIVersionInternal, Kind: asked.Kind}
	into, err := owner(asked.Group).scheme.New(internal)
	check(err)
	obj, _, err := known[asked.Group].Decode(asked.Value, nil, into)
	if err != nil {
		return answer{Error: err.Error()}
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return answer{} // a kind without metadata
	}
	return answer{Name: accessor.GetName(), Namespace: accessor.GetNamespace()}
}

// stored are the internal kinds that have metadata, with every version that converts to them.
type stored struct {
	internal schema.GroupVersionKind
	versions []schema.GroupVersionKind
}

func storedKinds() []stored {
	var found []stored
	for _, each := range servers {
		var internals, others []schema.GroupVersionKind
		for gvk := range each.scheme.AllKnownTypes() {
			if owner(gvk.Group).scheme != each.scheme || strings.HasSuffix(gvk.Kind, "List") {
				continue
			}
			if gvk.Version == runtime.APIVersionInternal {
				internals = append(internals, gvk)
			} else {
				others = append(others, gvk)
			}
		}
		for _, gvk := range internals {
			into, err := each.scheme.New(gvk)
			check(err)
			if _, ok := into.(metav1.ObjectMetaAccessor); !ok || !isStored(each.scheme, gvk) {
				continue
			}
			one := stored{internal: gvk}
			for _, other := range others {
				obj, err := each.scheme.New(other)
				check(err)
				into, _ := each.scheme.New(gvk)
				each.scheme.Default(obj)
				if each.scheme.Convert(obj, into, nil) == nil {
					one.versions = append(one.versions, other)
				}
			}
			if len(one.versions) == 0 {
				continue
			}
			sort.Slice(one.versions, func(i, j int) bool { return label(one.versions[i]) < label(one.versions[j]) })
			found = append(found, one)
		}
	}
	sort.Slice(found, func(i, j int) bool { return label(found[i].internal) < label(found[j].internal) })
	return found
}

// isStored says whether objects of an internal kind are in etcd: those that can be listed, and the ranges of the allocators.
func isStored(scheme *runtime.Scheme, gvk schema.GroupVersionKind) bool {
	return gvk.Group != "extensions" && gvk.Group != "events.k8s.io" && gvk.Kind != "ComponentStatus" && (scheme.Recognizes(gvk.GroupVersion().WithKind(gvk.Kind+"List")) || gvk.Kind == "RangeAllocation")
}

func label(gvk schema.GroupVersionKind) string {
	return gvk.Group + "/" + gvk.Version + "/" + gvk.Kind
}
