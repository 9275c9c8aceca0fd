// SPDX-License-Identifier: Apache-2.0
// The package onnxruntime of Maven: Program cpu|dml MODEL; the last line is RESULT and a JSON list.
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Map;

public final class Program {
    public static void main(String[] words) throws Exception {
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        float[] pixels = new float[3 * 224 * 224];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = (float) Math.sin(i / 1000.0);
        }
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            if (words[0].equals("dml")) {
                options.addDirectML(0);
            }
            try (OrtSession session = environment.createSession(words[1], options);
                 OnnxTensor x = OnnxTensor.createTensor(environment, FloatBuffer.wrap(pixels), new long[] {1, 3, 224, 224});
                 OrtSession.Result result = session.run(Map.of(session.getInputNames().iterator().next(), x))) {
                FloatBuffer values = ((OnnxTensor) result.get(0)).getFloatBuffer();
                float[] some = new float[(values.remaining() + 96) / 97];
                for (int i = 0; i < some.length; i++) {
                    some[i] = values.get(97 * i);
                }
                System.out.println("RESULT " + Arrays.toString(some));
            }
        }
    }
}
