// Command builtins asks the API server's own schemes what becomes of stored values of built-in kinds.
//
//	builtins scheme -discovery DIR   the tables of the schemes: kinds, what converts to what, types as encoding/json sees them
//	builtins seeds  [-in FILE]       drawn objects of every stored kind and version, as protobuf and as JSON
//	builtins decode [-in FILE]       a line {"group", "kind", "value"} is answered with {"error"} or {"name", "namespace"}
//
// See README.md.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("which? scheme, seeds or decode"))
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	in := flags.String("in", "-", "input; - is standard input")
	discovery := flags.String("discovery", "", "folder api/discovery of the release's source")
	check(flags.Parse(os.Args[2:]))
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	switch os.Args[1] {
	case "scheme":
		encoder.SetIndent("", " ")
		check(encoder.Encode(tables(*discovery)))
	case "seeds":
		for _, each := range seeds() {
			check(encoder.Encode(each))
		}
	case "decode":
		var input io.Reader = os.Stdin
		if *in != "-" {
			file, err := os.Open(*in)
			check(err)
			input = file
		}
		lines := json.NewDecoder(bufio.NewReaderSize(input, 1<<20))
		for {
			var asked question
			err := lines.Decode(&asked)
			if err == io.EOF {
				return
			}
			check(err)
			check(encoder.Encode(decode(asked)))
		}
	default:
		fail(fmt.Errorf("no such command: %s", os.Args[1]))
	}
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "builtins:", err)
	os.Exit(1)
}
