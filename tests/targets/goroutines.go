// Goroutines that compute on growing stacks, wait for each other and sleep: goroutines MILLISECONDS
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

var over int32 // the file END_FILE is there

func deep(n int) int {
	var pad [16]int
	if n == 0 {
		return 1
	}
	pad[n%16] = n
	return deep(n-1) + pad[n%16] - n
}

func main() {
	ms, _ := strconv.Atoi(os.Args[1])
	end := time.Now().Add(time.Duration(ms) * time.Millisecond)
	bad := make(chan int, 3)
	for i := 0; i < 3; i++ {
		go func() {
			n := 0
			for time.Now().Before(end) && atomic.LoadInt32(&over) == 0 {
				if deep(1000) != 1 {
					n++
				}
			}
			bad <- n
		}()
	}
	rounds := 0
	for ; time.Now().Before(end); rounds++ {
		if _, err := os.Stat(os.Getenv("END_FILE")); err == nil {
			atomic.StoreInt32(&over, 1)
			break
		}
		c := make(chan int)
		go func() { c <- deep(100) }()
		<-c
		time.Sleep(time.Millisecond)
	}
	sum := <-bad + <-bad + <-bad
	fmt.Println("rounds", rounds, "bad", sum)
	if sum != 0 {
		os.Exit(1)
	}
}
