package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// phases are the parts of an audit that are timed.
var phases = [...]string{"decode", "read", "validate", "rules"}

// tally is what one worker has done in one pass.
type tally struct {
	spent               [len(phases)]time.Duration
	invalid, unreadable int
}

// bench audits all lines that are in memory, once to warm up and then once for each pass. The collector must not have
// processors of its own: GOMAXPROCS is the number of workers, unless the environment says otherwise.
func bench(c catalog, lines [][]byte, workers, passes int, whole bool) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(workers)
	}
	bytes := 0
	versions := make([]*version, len(lines))
	for i, line := range lines {
		bytes += len(line)
		versions[i], _ = c.locate(line, place{})
	}
	fmt.Printf("objects=%d bytes=%d workers=%d gomaxprocs=%d whole=%v\n", len(lines), bytes, workers, runtime.GOMAXPROCS(0), whole)
	for pass := 0; pass <= passes; pass++ {
		start := time.Now()
		total := benchPass(versions, lines, workers, whole)
		wall := time.Since(start).Seconds()
		if pass == 0 {
			continue
		}
		fmt.Printf("pass=%d wall=%.3f objects/s=%.0f MB/s=%.2f invalid=%d unreadable=%d", pass, wall,
			float64(len(lines))/wall, float64(bytes)/1e6/wall, total.invalid, total.unreadable)
		for i, name := range phases {
			fmt.Printf(" %s=%.2f", name, float64(total.spent[i].Nanoseconds())/1e3/float64(max(len(lines), 1)))
		}
		fmt.Println(" us/object")
	}
}

func benchPass(versions []*version, lines [][]byte, workers int, whole bool) tally {
	tallies := make([]tally, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w; i < len(lines); i += workers {
				tallies[w].add(versions[i], lines[i], whole)
			}
		})
	}
	group.Wait()
	var total tally
	for _, each := range tallies {
		for i := range phases {
			total.spent[i] += each.spent[i]
		}
		total.invalid += each.invalid
		total.unreadable += each.unreadable
	}
	return total
}

// add audits one object. The conversion between equal versions, with its copy of the object, is part of every real read;
// it is left out unless whole is given, so that nobody can say that the yardstick was slowed down by it.
func (t *tally) add(v *version, line []byte, whole bool) {
	last := time.Now()
	lap := func(phase int) {
		now := time.Now()
		t.spent[phase] += now.Sub(last)
		last = now
	}
	var object *unstructured.Unstructured
	err := fmt.Errorf("no version")
	if v != nil {
		object, err = decode(line)
	}
	lap(0)
	r := &reading{object: object}
	if err == nil {
		if err = r.fit(v.of, true, false); err == nil {
			r.fill(v.of, false)
			if whole {
				err = r.transform(v)
			}
		}
	}
	lap(1)
	if err != nil {
		t.unreadable++
		return
	}
	ctx := context.Background()
	found := v.bare.Validate(ctx, r.object)
	lap(2)
	found = append(found, v.judgeRules(ctx, found, r.object.Object, nil)...)
	lap(3)
	if len(found) > 0 {
		t.invalid++
	}
}
