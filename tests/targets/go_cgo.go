// Calls C, which works and calls Go back: go_cgo MILLISECONDS
package main

/*
static int spin(int n) { volatile unsigned x = 1; for (int i = 0; i < n * 1000; i++) x = x * 1664525u + 1; return x; }
static int outer(int n) { return spin(n) + 1; }
int goBack(int);
static int back(int n) { return goBack(n) + 1; }
*/
import "C"
import (
	"os"
	"strconv"
	"time"
)

//export goBack
func goBack(n C.int) C.int {
	s := 0
	for i := 0; i < int(n)*1000; i++ {
		s = s*31 + i
	}
	return C.int(s)
}

func main() {
	ms, _ := strconv.Atoi(os.Args[1])
	end := time.Now().Add(time.Duration(ms) * time.Millisecond)
	var keep [][]byte
	for time.Now().Before(end) {
		C.outer(200)
		C.back(200)
		keep = append(keep, make([]byte, 10000))
		if len(keep) > 1000 {
			keep = nil
		}
	}
}
