// SPDX-License-Identifier: Apache-2.0
// The module onnxruntime_go: go_program cpu|dml RUNTIME MODEL; the last line is RESULT and a JSON list.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"

	ort "github.com/yalue/onnxruntime_go"
)

func try(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ort.SetSharedLibraryPath(os.Args[2])
	try(ort.InitializeEnvironment())
	defer ort.DestroyEnvironment()
	options, err := ort.NewSessionOptions()
	try(err)
	defer options.Destroy()
	if os.Args[1] == "dml" {
		try(options.AppendExecutionProviderDirectML(0))
	}
	inputs, outputs, err := ort.GetInputOutputInfo(os.Args[3])
	try(err)
	pixels := make([]float32, 3*224*224)
	for i := range pixels {
		pixels[i] = float32(math.Sin(float64(i) / 1000))
	}
	x, err := ort.NewTensor(ort.NewShape(1, 3, 224, 224), pixels)
	try(err)
	defer x.Destroy()
	session, err := ort.NewDynamicAdvancedSession(os.Args[3], []string{inputs[0].Name}, []string{outputs[0].Name}, options)
	try(err)
	defer session.Destroy()
	results := []ort.Value{nil}
	try(session.Run([]ort.Value{x}, results))
	defer results[0].Destroy()
	var some []float32
	for i, value := range results[0].(*ort.Tensor[float32]).GetData() {
		if i%97 == 0 {
			some = append(some, value)
		}
	}
	text, err := json.Marshal(some)
	try(err)
	fmt.Println("RESULT", string(text))
}
