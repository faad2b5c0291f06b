// Command reference asks the Kubernetes libraries what an API server makes of stored custom resources.
//
//	reference audit  -crds PATH [-in FILE] [-workers N] [-version V] [-resource R] [-without-rules]
//	reference update -crds PATH [-in FILE] ...     a line is {"old": OBJECT, "new": OBJECT}
//	reference cel    [-in FILE]                    a line is {"expression": TEXT, "self": VALUE, "schema": SCHEMA}
//	reference answer [-in FILE]                    fills in what a file of vectors expects
//	reference bench  -crds PATH -in FILE [-workers N] [-passes N] [-whole]
//	reference version
//
// All but the last three answer a line of JSON with a line of JSON, in order. See README.md.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/cel/environment"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("which? audit, update, cel, answer, bench or version"))
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	crds := flags.String("crds", "", "definitions: a file, or a folder of files")
	in := flags.String("in", "-", "input; - is standard input")
	workers := flags.Int("workers", 1, "workers")
	passes := flags.Int("passes", 3, "timed passes, after one to warm up")
	whole := flags.Bool("whole", false, "bench: with the conversion that a read does even between equal versions")
	bare := flags.Bool("without-rules", false, "as if no definition had x-kubernetes-validations")
	var at place
	flags.StringVar(&at.Version, "version", "", "read and judge at this version, not at the object's own")
	flags.StringVar(&at.Resource, "resource", "", "plural.group of the definition, whatever the objects say")
	check(flags.Parse(os.Args[2:]))

	switch os.Args[1] {
	case "audit":
		c := load(*crds, !*bare)
		stream(*in, *workers, func(line []byte) interface{} { return c.audit(line, at) })
	case "update":
		c := load(*crds, !*bare)
		stream(*in, *workers, func(line []byte) interface{} {
			var pair struct{ Old, New json.RawMessage }
			check(json.Unmarshal(line, &pair))
			return c.update(pair.Old, pair.New, at)
		})
	case "cel":
		stream(*in, *workers, func(line []byte) interface{} {
			var asked struct {
				Expression   string
				Self, Schema json.RawMessage
			}
			check(json.Unmarshal(line, &asked))
			answer, err := evaluate(asked.Expression, asked.Self, asked.Schema)
			check(err)
			return answer
		})
	case "answer":
		text, err := io.ReadAll(open(*in))
		check(err)
		answered, err := answerVectors(text)
		check(err)
		os.Stdout.Write(answered)
	case "bench":
		var lines [][]byte
		check(eachLine(*in, func(line []byte) { lines = append(lines, bytes.Clone(line)) }))
		bench(load(*crds, true), lines, *workers, *passes, *whole)
	case "version":
		fmt.Println(release())
	default:
		fail(fmt.Errorf("no such command: %s", os.Args[1]))
	}
}

// release names the libraries and the version of the expression language.
func release() string {
	words := []string{"cel " + environment.DefaultCompatibilityVersion().String()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, each := range info.Deps {
			switch each.Path {
			case "k8s.io/apiextensions-apiserver", "github.com/google/cel-go":
				words = append(words, each.Path+" "+each.Version)
			}
		}
	}
	return strings.Join(words, ", ")
}

func load(path string, withRules bool) catalog {
	c, err := readCatalog(path, withRules)
	check(err)
	return c
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "reference:", err)
	os.Exit(1)
}

func open(path string) io.Reader {
	if path == "-" {
		return os.Stdin
	}
	file, err := os.Open(path)
	check(err)
	return file
}

// eachLine calls do with each line that is not blank; the bytes are valid until it returns.
func eachLine(path string, do func([]byte)) error {
	lines := bufio.NewReaderSize(open(path), 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			do(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// stream answers lines, in order; it holds a few hundred at a time.
func stream(path string, workers int, answer func([]byte) interface{}) {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	const most = 256
	var asked [][]byte
	flush := func() {
		answers := make([][]byte, len(asked))
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() {
				for i := w; i < len(asked); i += workers {
					answers[i] = encode(answer(asked[i]))
				}
			})
		}
		group.Wait()
		for _, each := range answers {
			out.Write(each)
		}
		asked = asked[:0]
	}
	check(eachLine(path, func(line []byte) {
		if asked = append(asked, bytes.Clone(line)); len(asked) == most*workers {
			flush()
		}
	}))
	flush()
}

// encode writes JSON that ends with a newline, with <, > and & as they are.
func encode(value interface{}) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(value))
	return out.Bytes()
}
