package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// finding is one error, in the server's words.
type finding struct {
	Field    string      `json:"field"`
	Type     string      `json:"type"`
	Message  string      `json:"message"`
	Detail   string      `json:"detail"`
	BadValue interface{} `json:"badValue"`
}

// findings are sorted by field, type and message: the libraries walk maps, so that their order is none.
func findings(list field.ErrorList) []finding {
	made := make([]finding, 0, len(list))
	for _, each := range list {
		anonymous := func(text string) string { return selfType.ReplaceAllString(text, "selfType") }
		value := each.BadValue
		if _, err := json.Marshal(value); err != nil {
			value = fmt.Sprint(value)
		}
		made = append(made, finding{each.Field, string(each.Type), anonymous(each.Error()), anonymous(each.Detail), value})
	}
	sort.Slice(made, func(i, j int) bool {
		a, b := made[i], made[j]
		if a.Field != b.Field {
			return a.Field < b.Field
		}
		if a.Type != b.Type {
			return a.Type < b.Type
		}
		return a.Message < b.Message
	})
	return made
}

// audited is what becomes of a stored value: read, then judged as a create would.
type audited struct {
	Unreadable  string                 `json:"unreadable,omitempty"`
	Object      map[string]interface{} `json:"object,omitempty"`
	Pruned      []string               `json:"pruned,omitempty"`
	Defaulted   []string               `json:"defaulted,omitempty"`
	Findings    []finding              `json:"findings"`
	Selectable  map[string]string      `json:"selectable,omitempty"`
	SelectError string                 `json:"selectError,omitempty"`
}

func (c catalog) audit(value []byte, at place) (out audited) {
	out.Findings = []finding{}
	defer func() {
		if caught := recover(); caught != nil {
			out = audited{Unreadable: fmt.Sprint("panic: ", caught), Findings: []finding{}}
		}
	}()
	v, err := c.locate(value, at)
	if err != nil {
		out.Unreadable = err.Error()
		return out
	}
	r, err := v.read(value)
	if err != nil {
		out.Unreadable = err.Error()
		return out
	}
	sort.Strings(r.pruned) // those of metadata come from a map
	out.Object, out.Pruned, out.Defaulted = r.object.Object, r.pruned, r.defaulted
	out.Findings = findings(v.whole.Validate(context.Background(), r.object))
	_, selectable, err := v.whole.GetAttrs(r.object)
	if err != nil {
		out.SelectError = err.Error()
	} else {
		out.Selectable = selectable
	}
	return out
}

// updated is what the server says to an update: as it is, without ratcheting, and to the new object as a create.
type updated struct {
	Unreadable string    `json:"unreadable,omitempty"`
	Findings   []finding `json:"findings"`
	Unratched  []finding `json:"unratcheted"`
	Create     []finding `json:"create"`
}

func (c catalog) update(before, after []byte, at place) (out updated) {
	none := updated{Findings: []finding{}, Unratched: []finding{}, Create: []finding{}}
	out = none
	defer func() {
		if caught := recover(); caught != nil {
			out = none
			out.Unreadable = fmt.Sprint("panic: ", caught)
		}
	}()
	v, err := c.locate(after, at)
	if err != nil {
		out.Unreadable = err.Error()
		return out
	}
	now, err := v.read(after)
	if err != nil {
		out.Unreadable = "new: " + err.Error()
		return out
	}
	was, err := v.read(before)
	if err != nil {
		out.Unreadable = "old: " + err.Error()
		return out
	}
	ctx := context.Background()
	out.Findings = findings(v.whole.ValidateUpdate(ctx, now.object, was.object))
	out.Create = findings(v.whole.Validate(ctx, now.object))
	out.Unratched = findings(v.strict(ctx, now, was))
	return out
}

// strict judges an update of which nothing is tolerated for being old; transition rules still see the old object.
func (v *version) strict(ctx context.Context, now, was *reading) field.ErrorList {
	found := v.unratched.ValidateUpdate(ctx, now.object, was.object)
	if len(listtype.ValidateListSetsAndMaps(nil, v.schema, was.object.Object)) > 0 {
		// Where the old lists have duplicates, the strategy does not look at the new ones.
		found = append(found, listtype.ValidateListSetsAndMaps(nil, v.schema, now.object.Object)...)
	}
	return append(found, v.judgeRules(ctx, found, now.object.Object, was.object.Object)...)
}

// blocking are the errors after which no rule is evaluated.
var blocking = map[field.ErrorType]bool{
	field.ErrorTypeNotSupported: true, field.ErrorTypeRequired: true, field.ErrorTypeTooLong: true,
	field.ErrorTypeTooMany: true, field.ErrorTypeTypeInvalid: true,
}

const unchecked = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

// judgeRules evaluates rules, given what else was found.
func (v *version) judgeRules(ctx context.Context, found field.ErrorList, now map[string]interface{}, was interface{}) field.ErrorList {
	if v.rules == nil {
		return nil
	}
	for _, each := range found {
		if blocking[each.Type] {
			return field.ErrorList{field.Invalid(nil, nil, unchecked)}
		}
	}
	more, _ := v.rules.Validate(ctx, nil, v.schema, now, was, celconfig.RuntimeCELCostBudget)
	return more
}
