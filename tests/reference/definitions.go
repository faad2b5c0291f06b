package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	rules "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"
)

var (
	scheme     = runtime.NewScheme()
	converters *conversion.CRConverterFactory
	asIs       = func(r webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver { return r }
)

func init() {
	install.Install(scheme)
	var err error
	if converters, err = conversion.NewCRConverterFactory(nil, asIs); err != nil {
		panic(err)
	}
}

// judge is what is asked of the strategy of custom resources, whose type has no name outside its package.
type judge interface {
	Validate(context.Context, runtime.Object) field.ErrorList
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	GetAttrs(runtime.Object) (labels.Set, fields.Set, error)
}

// definition is a CustomResourceDefinition, ready to read and judge objects.
type definition struct {
	resource, storage string
	kind              schema.GroupKind
	preserves         bool // spec.preserveUnknownFields of v1beta1
	webhook           bool
	versions          map[string]*version
	schemas           map[string]*structural.Structural
	convert           runtime.ObjectConvertor
	unusable          error
}

// version is one version of it. The three judges share their schemas: as the server has it, without validation
// rules, and without rules and without ratcheting of schemas.
type version struct {
	of                     *definition
	name                   string
	schema                 *structural.Structural
	whole, bare, unratched judge
	rules                  *rules.Validator
}

// catalog finds definitions.
type catalog []*definition

func (c catalog) byResource(name string) *definition {
	for _, d := range c {
		if d.resource == name {
			return d
		}
	}
	return nil
}

func (c catalog) byKind(kind schema.GroupKind) *definition {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].kind == kind {
			return c[i]
		}
	}
	return nil
}

// readCatalog makes a catalog of the manifests in a file, or in the files of a folder.
func readCatalog(root string, withRules bool) (catalog, error) {
	var found catalog
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" && ext != ".json" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		more, err := parseCatalog(text, withRules)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		found = append(found, more...)
		return nil
	})
	return found, err
}

// parseCatalog makes a catalog of the definitions in YAML or JSON text; documents of other kinds are passed over.
func parseCatalog(text []byte, withRules bool) (catalog, error) {
	var found catalog
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	buffer := make([]byte, len(text)+1024)
	for {
		size, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		document, err := yaml.YAMLToJSON(buffer[:size])
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(document, []byte(`"CustomResourceDefinition"`)) {
			continue
		}
		one, err := newDefinition(document, withRules)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
}

// newDefinition decodes a manifest. What only keeps the server from using it is kept in unusable.
func newDefinition(document []byte, withRules bool) (*definition, error) {
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder(apiextensions.SchemeGroupVersion)
	decoded, _, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return nil, err
	}
	internal, ok := decoded.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil, fmt.Errorf("a %T, not a definition", decoded)
	}
	served := &v1.CustomResourceDefinition{}
	if err := scheme.Convert(internal.DeepCopy(), served, nil); err != nil {
		return nil, err
	}
	d := &definition{
		resource:  served.Spec.Names.Plural + "." + served.Spec.Group,
		kind:      schema.GroupKind{Group: served.Spec.Group, Kind: served.Spec.Names.Kind},
		preserves: served.Spec.PreserveUnknownFields,
		webhook:   served.Spec.Conversion != nil && served.Spec.Conversion.Strategy == v1.WebhookConverter,
		versions:  map[string]*version{},
		schemas:   map[string]*structural.Structural{},
	}
	d.unusable = d.build(internal, served, withRules)
	return d, nil
}

func (d *definition) build(internal *apiextensions.CustomResourceDefinition, served *v1.CustomResourceDefinition, withRules bool) error {
	// Webhooks are not called: where one would be, the read fails (see transform).
	served.Spec.Conversion = &v1.CustomResourceConversion{Strategy: v1.NoneConverter}
	var err error
	if d.convert, _, err = converters.NewConverter(served); err != nil {
		return err
	}
	for i := range served.Spec.Versions {
		one := &served.Spec.Versions[i]
		if one.Storage {
			d.storage = one.Name
		}
		v := &version{of: d, name: one.Name}
		if err := v.build(internal, one, withRules, served.Spec.Scope == v1.NamespaceScoped); err != nil {
			return err
		}
		d.versions[one.Name], d.schemas[one.Name] = v, v.schema
	}
	return nil
}

func (v *version) build(internal *apiextensions.CustomResourceDefinition, one *v1.CustomResourceDefinitionVersion, withRules, namespaced bool) error {
	given, err := apiextensions.GetSchemaForVersion(internal, one.Name)
	if err != nil {
		return err
	}
	var props *apiextensions.JSONSchemaProps
	if given != nil {
		props = given.OpenAPIV3Schema
		// Schemas that are not structural are those of old definitions that preserve everything.
		if v.schema, err = structural.NewStructural(props); err != nil && !v.of.preserves {
			return fmt.Errorf("not structural: %w", err)
		}
		if !v.of.preserves {
			if err := defaulting.PruneDefaults(v.schema); err != nil {
				return fmt.Errorf("defaults: %w", err)
			}
		}
	}
	check, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return err
	}
	sub, err := apiextensions.GetSubresourcesForVersion(internal, one.Name)
	if err != nil {
		return err
	}
	var status *apiextensions.CustomResourceSubresourceStatus
	var scale *apiextensions.CustomResourceSubresourceScale
	var checkStatus validation.SchemaValidator
	if sub != nil {
		status, scale = sub.Status, sub.Scale
	}
	if status != nil && props != nil {
		if below, ok := props.Properties["status"]; ok {
			if checkStatus, _, err = validation.NewSchemaValidator(&below); err != nil {
				return err
			}
		}
	}
	bare := withoutRules(v.schema)
	if !withRules {
		v.schema = bare
	}
	strategy := func(s *structural.Structural, c validation.SchemaValidator) judge {
		kind := v.of.kind.WithVersion(one.Name)
		return customresource.NewStrategy(crdserverscheme.NewUnstructuredObjectTyper(), namespaced, kind, c, checkStatus, s, status, scale, one.SelectableFields)
	}
	v.whole, v.bare, v.unratched = strategy(v.schema, check), strategy(bare, check), strategy(bare, unratcheted{check})
	v.rules = rules.NewValidator(v.schema, true, celconfig.PerCallLimit)
	return nil
}

// withoutRules is a copy of a schema in which no node has a validation rule.
func withoutRules(s *structural.Structural) *structural.Structural {
	if s == nil {
		return nil
	}
	bare := s.DeepCopy()
	walk := structural.Visitor{
		Structural: func(node *structural.Structural) bool {
			had := node.XValidations != nil
			node.XValidations = nil
			return had
		},
		NestedValueValidation: func(node *structural.NestedValueValidation) bool {
			had := node.XValidations != nil
			node.XValidations = nil
			return had
		},
	}
	walk.Visit(bare)
	return bare
}

// unratcheted judges an update as if there had been nothing before.
type unratcheted struct{ validation.SchemaValidator }

func (u unratcheted) ValidateUpdate(obj, _ interface{}, _ ...validation.ValidationOption) *validate.Result {
	return u.Validate(obj)
}
