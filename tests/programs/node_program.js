// SPDX-License-Identifier: Apache-2.0
// onnxruntime-node and transformers.js as programs use them: node_program.js NAME cpu|dml FOLDER
// FOLDER has node_modules and the model. The last line is RESULT and a JSON list.
const path = require('path');
const fs = require('fs');
const [name, mode, folder] = process.argv.slice(2);
const load = (module) => require(require.resolve(module, { paths: [folder] }));
const pixels = () => Float32Array.from({ length: 3 * 224 * 224 }, (_, i) => Math.sin(i / 1000));

async function onnxruntimeNode() {
    const ort = load('onnxruntime-node');
    const session = await ort.InferenceSession.create(path.join(folder, 'model', 'onnx', 'model.onnx'),
        { executionProviders: mode === 'dml' ? ['dml', 'cpu'] : ['cpu'] });
    const input = new ort.Tensor('float32', pixels(), [1, 3, 224, 224]);
    const outputs = await session.run({ [session.inputNames[0]]: input });
    return Array.from(outputs[session.outputNames[0]].data).filter((_, i) => i % 97 === 0);
}

// A network without a tokenizer, from a folder of the user's.
async function transformersJs() {
    const { AutoModel, Tensor, env } = load('@huggingface/transformers');
    env.allowRemoteModels = false;
    env.localModelPath = folder;
    const model = await AutoModel.from_pretrained('model', { dtype: 'fp32' });
    const session = model.sessions.model;
    const outputs = await session.run({ [session.inputNames[0]]: new Tensor('float32', pixels(), [1, 3, 224, 224]).ort_tensor });
    return Array.from(outputs[session.outputNames[0]].data).filter((_, i) => i % 97 === 0);
}

(name === 'onnxruntime_node' ? onnxruntimeNode : transformersJs)().then(
    (result) => console.log('RESULT', JSON.stringify(result)),
    (error) => { console.error(error); process.exit(1); });
