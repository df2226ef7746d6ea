// A service that appends a line to a journal for each request, and syncs it, under a mutex:
//
//	counter serve JOURNAL    prints the port that it listens on
//	counter ask PORT CLIENTS
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
)

var (
	mutex   sync.Mutex
	journal *os.File
	count   int
)

//go:noinline
func countRequest() int {
	mutex.Lock()
	defer mutex.Unlock()
	count++
	fmt.Fprintln(journal, count)
	if err := journal.Sync(); err != nil {
		panic(err)
	}
	return count
}

//go:noinline
func handle(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, countRequest())
}

func serve(path string) {
	var err error
	if journal, err = os.Create(path); err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, http.HandlerFunc(handle)))
}

func ask(port string) {
	for {
		response, err := http.Get("http://127.0.0.1:" + port)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}

func main() {
	if os.Args[1] == "serve" {
		serve(os.Args[2])
	}
	clients, _ := strconv.Atoi(os.Args[3])
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = clients
	for i := 1; i < clients; i++ {
		go ask(os.Args[2])
	}
	ask(os.Args[2])
}
