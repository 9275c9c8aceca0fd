// SPDX-License-Identifier: Apache-2.0
// Microsoft.ML.OnnxRuntime, ONNX Runtime's interface for C#: Program cpu|dml MODEL; the last line is RESULT and a JSON list.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Microsoft.ML.OnnxRuntime;
using Microsoft.ML.OnnxRuntime.Tensors;

public static class Program
{
    public static void Main(string[] words)
    {
        var x = new DenseTensor<float>(new[] { 1, 3, 224, 224 });
        for (int i = 0; i < x.Length; i++)
            x.SetValue(i, (float)Math.Sin(i / 1000.0));
        using (var options = new SessionOptions())
        {
            if (words[0] == "dml")
                options.AppendExecutionProvider_DML(0);
            using (var session = new InferenceSession(words[1], options))
            {
                var inputs = new List<NamedOnnxValue> { NamedOnnxValue.CreateFromTensor(session.InputMetadata.Keys.First(), x) };
                using (var results = session.Run(inputs))
                {
                    var values = results.First().AsEnumerable<float>().Where((value, i) => i % 97 == 0);
                    var texts = values.Select(value => value.ToString("R", CultureInfo.InvariantCulture));
                    Console.WriteLine("RESULT [" + string.Join(", ", texts) + "]");
                }
            }
        }
    }
}
