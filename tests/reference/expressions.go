package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	rules "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	servercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// selfType is the name that the server draws anew for each anonymous type.
var selfType = regexp.MustCompile(`selfType[0-9]+`)

// evaluated is what an expression comes to.
type evaluated struct {
	Type    string      `json:"type,omitempty"`
	Value   interface{} `json:"value"`
	Error   string      `json:"error,omitempty"`
	Compile string      `json:"compile,omitempty"`
	Cost    uint64      `json:"cost"`
}

// baseEnvironment is the environment of the server. Releases before 1.34 ask whether costs are enforced strictly, too: a server
// does that by default since 1.31.
func baseEnvironment() *environment.EnvSet {
	make := reflect.ValueOf(environment.MustBaseEnvSet)
	given := []reflect.Value{reflect.ValueOf(environment.DefaultCompatibilityVersion()), reflect.ValueOf(true)}
	return make.Call(given[:make.Type().NumIn()])[0].Interface().(*environment.EnvSet)
}

// evaluate evaluates an expression over self, which is of the type of a schema (of any type, where none is given).
func evaluate(expression string, self, props []byte) (evaluated, error) {
	var s *structural.Structural
	declared := servercel.DynType
	if len(props) > 0 {
		var given v1.JSONSchemaProps
		var internal apiextensions.JSONSchemaProps
		if err := json.Unmarshal(props, &given); err != nil {
			return evaluated{}, err
		}
		if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&given, &internal, nil); err != nil {
			return evaluated{}, err
		}
		var err error
		if s, err = structural.NewStructural(&internal); err != nil {
			return evaluated{}, err
		}
		declared = model.SchemaDeclType(s, false).MaybeAssignTypeName("selfType1")
	}
	options := environment.VersionedOptions{
		IntroducedVersion: utilversion.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("self", declared.CelType())},
	}
	if s != nil {
		options.DeclTypes = []*servercel.DeclType{declared}
	}
	set, err := baseEnvironment().Extend(options)
	if err != nil {
		return evaluated{}, err
	}
	env := set.StoredExpressionsEnv()
	ast, issues := env.Compile(expression)
	if issues != nil {
		return evaluated{Compile: issues.String()}, nil
	}
	program, err := env.Program(ast, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(&library.CostEstimator{}),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil { // what is constant is evaluated here
		return evaluated{Compile: "program instantiation failed: " + err.Error()}, nil
	}
	var value interface{}
	if err := utiljson.Unmarshal(self, &value); err != nil {
		return evaluated{}, err
	}
	if s != nil {
		value = rules.UnstructuredToVal(value, s)
	}
	result, details, err := program.Eval(map[string]interface{}{"self": value})
	out := evaluated{}
	if details != nil && details.ActualCost() != nil {
		out.Cost = *details.ActualCost()
	}
	if err != nil {
		out.Error = err.Error()
		return out, nil
	}
	out.Type, out.Value = result.Type().TypeName(), plain(result)
	return out, nil
}

// plain shows a value as JSON; what JSON has no form for is an object whose key begins with "$".
func plain(value ref.Val) interface{} {
	special := func(name string, shown interface{}) interface{} { return map[string]interface{}{"$" + name: shown} }
	switch value := value.(type) {
	case types.Null:
		return nil
	case types.Bool, types.String, types.Int, types.Uint:
		return value.(ref.Val).Value()
	case types.Double:
		return special("double", fmt.Sprint(float64(value)))
	case types.Bytes:
		return special("bytes", []byte(value))
	case types.Duration:
		return special("duration", value.Nanoseconds())
	case *types.Type:
		return special("type", value.TypeName())
	case *types.Optional:
		items := []interface{}{}
		if value.HasValue() {
			items = append(items, plain(value.GetValue()))
		}
		return special("optional", items)
	case traits.Mapper:
		entries := map[string]interface{}{}
		for each := value.Iterator(); each.HasNext() == types.True; {
			key := each.Next()
			entries[fmt.Sprint(key.Value())] = plain(value.Get(key))
		}
		return entries
	case traits.Lister:
		items := []interface{}{}
		for each := value.Iterator(); each.HasNext() == types.True; {
			items = append(items, plain(each.Next()))
		}
		return items
	}
	if text, ok := value.ConvertToType(types.StringType).(types.String); ok {
		return special(value.Type().TypeName(), string(text))
	}
	return special(value.Type().TypeName(), fmt.Sprint(value.Value()))
}
