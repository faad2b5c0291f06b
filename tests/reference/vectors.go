package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// suite is a file of vectors: cases that share their definitions.
type suite struct {
	About       string            `json:"about"`
	Release     string            `json:"release"`
	Definitions []json.RawMessage `json:"definitions,omitempty"`
	Cases       []*vector         `json:"cases"`
}

// vector is one case: a stored value, the values before and after an update, an expression over a value, or a definition.
// Values are texts, for how a number is spelled counts.
type vector struct {
	Name       string          `json:"name"`
	Object     *string         `json:"object,omitempty"`
	Old        *string         `json:"old,omitempty"`
	New        *string         `json:"new,omitempty"`
	Expression *string         `json:"expression,omitempty"`
	Self       *string         `json:"self,omitempty"`
	Schema     json.RawMessage `json:"schema,omitempty"`
	Definition json.RawMessage `json:"definition,omitempty"`
	place
	Expect json.RawMessage `json:"expect,omitempty"`
}

// tries is how often each question is asked: an answer that depends on the order in which a map is walked is no vector.
const tries = 6

// answerVectors fills in what the cases of a file expect.
func answerVectors(text []byte) ([]byte, error) {
	var s suite
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	s.Release = release()
	var c catalog
	for _, document := range s.Definitions {
		one, err := newDefinition(document, true)
		if err != nil {
			return nil, err
		}
		c = append(c, one)
	}
	for _, each := range s.Cases {
		each.Expect = nil
		for range tries {
			answer, err := each.ask(c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", each.Name, err)
			}
			said := trimmed(answer)
			if each.Expect != nil && !bytes.Equal(said, each.Expect) {
				return nil, fmt.Errorf("%s: two answers to one question: %s and %s", each.Name, each.Expect, said)
			}
			each.Expect = said
		}
	}
	return s.lines(), nil
}

// lines writes a suite, a line for each definition and each case, so that a change of an answer is a changed line.
func (s *suite) lines() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"about\": %s,\n\"release\": %s", trimmed(s.About), trimmed(s.Release))
	if len(s.Definitions) > 0 {
		list(&out, "definitions", s.Definitions)
	}
	list(&out, "cases", s.Cases)
	out.WriteString("\n}\n")
	return out.Bytes()
}

func list[T any](out *bytes.Buffer, name string, items []T) {
	fmt.Fprintf(out, ",\n%q: [", name)
	for i, each := range items {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n%s", trimmed(each))
	}
	out.WriteString("\n]")
}

func trimmed(value interface{}) []byte { return bytes.TrimSpace(encode(value)) }

func (v *vector) ask(c catalog) (interface{}, error) {
	switch {
	case v.Object != nil:
		return c.audit([]byte(*v.Object), v.place), nil
	case v.Old != nil && v.New != nil:
		return c.update([]byte(*v.Old), []byte(*v.New), v.place), nil
	case v.Expression != nil && v.Self != nil:
		return evaluate(*v.Expression, []byte(*v.Self), v.Schema)
	case v.Definition != nil:
		return admit(v.Definition), nil
	}
	return nil, fmt.Errorf("asks nothing")
}
