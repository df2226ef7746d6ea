// Writes one profile of each kind that runtime/pprof knows, in protobuf and as text.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var sink [][]byte
var hash uint32

//go:noinline
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for i := 0; i < 100000; i++ {
			hash = hash*16777619 ^ uint32(i)
		}
	}
}

//go:noinline
func work(d time.Duration) { spin(d); light(d / 3) }

//go:noinline
func light(d time.Duration) { spin(d) }

//go:noinline
func allocate() {
	for i := 0; i < 400; i++ {
		b := make([]byte, 64<<10)
		if i%4 == 0 {
			sink = append(sink, b)
		}
	}
}

func contend() {
	var m sync.Mutex
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < 30; j++ {
				m.Lock()
				time.Sleep(200 * time.Microsecond)
				m.Unlock()
			}
		}()
	}
	wg.Wait()
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	f, _ := os.Create("cpu.pb.gz")
	pprof.StartCPUProfile(f)
	pprof.Do(context.Background(), pprof.Labels("request", "import"),
		func(context.Context) { work(1500 * time.Millisecond) })
	pprof.StopCPUProfile()
	f.Close()
	allocate()
	contend()
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "goroutine", "threadcreate", "block", "mutex"} {
		for debug, suffix := range []string{".pb.gz", ".txt"} {
			f, _ := os.Create(name + suffix)
			pprof.Lookup(name).WriteTo(f, debug)
			f.Close()
		}
	}
	fmt.Fprintln(os.Stderr, len(sink), hash)
}
