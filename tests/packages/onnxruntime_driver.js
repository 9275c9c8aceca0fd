// SPDX-License-Identifier: Apache-2.0
// Runs ONNX networks through onnxruntime-node and its `dml` provider in Windows' node.exe, for try_onnxruntime_windows.py:
//
//     node onnxruntime_driver.js PROVIDER JOBS FIRST [ROUNDS]
//
// The files and what is printed are those of onnxruntime_driver.c.
'use strict';
const fs = require('fs');
const ort = require('onnxruntime-node');

// Names of element types by their numbers in ONNX.
const TYPES = {
  1: ['float32', Float32Array], 2: ['uint8', Uint8Array], 3: ['int8', Int8Array], 4: ['uint16', Uint16Array],
  5: ['int16', Int16Array], 6: ['int32', Int32Array], 7: ['int64', BigInt64Array], 9: ['bool', Uint8Array],
  10: ['float16', Uint16Array], 11: ['float64', Float64Array], 12: ['uint32', Uint32Array], 13: ['uint64', BigUint64Array],
};
const NUMBERS = Object.fromEntries(Object.entries(TYPES).map(([number, [name]]) => [name, number]));

function readTensors(path) {
  const all = fs.readFileSync(path), feeds = {};
  for (let at = 0; at < all.length;) {
    const end = all.indexOf('\n', at);
    const [name, type, rank, ...rest] = all.toString('latin1', at, end).split(' ');
    const bytes = Number(rest.pop()), [typeName, array] = TYPES[type];
    const data = new Uint8Array(all.subarray(end + 1, end + 1 + bytes)); // a copy: its address is aligned
    feeds[name] = new ort.Tensor(typeName, new array(data.buffer), rest.slice(0, Number(rank)).map(Number));
    at = end + 1 + bytes;
  }
  return feeds;
}

function writeTensors(path, results) {
  const parts = [];
  for (const [name, t] of Object.entries(results)) {
    const data = Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength);
    parts.push(Buffer.from([name, NUMBERS[t.type], t.dims.length, ...t.dims, data.length].join(' ') + '\n'), data);
  }
  fs.writeFileSync(path, Buffer.concat(parts));
}

async function run(line, provider, rounds) {
  const [model, inputs, outputs] = line.split('|'), times = [];
  const options = { executionProviders: [provider.replace('+', '').toLowerCase()], logSeverityLevel: 3, enableMemPattern: false };
  if (!provider.endsWith('+') && provider !== 'CPU') options.extra = { session: { disable_cpu_ep_fallback: '1' } };
  const session = await ort.InferenceSession.create(model, options), feeds = readTensors(inputs);
  const results = await session.run(feeds);
  for (let i = 0; i < rounds; i++) {
    const begin = process.hrtime.bigint();
    await session.run(feeds);
    times.push(Number(process.hrtime.bigint() - begin) / 1e6);
  }
  writeTensors(outputs, results);
  await session.release();
  times.sort((a, b) => a - b);
  return (rounds ? [times[rounds >> 1], times[0]] : [0, 0]).map((ms) => ms.toFixed(4)).join(' ');
}

async function main() {
  const [provider, jobs, first, rounds] = process.argv.slice(2);
  const lines = fs.readFileSync(jobs, 'latin1').split('\n').filter((line) => line);
  for (let i = Number(first); i < lines.length; i++) {
    try {
      console.log(`${i} ok ${await run(lines[i], provider, Number(rounds || 0))}`);
    } catch (error) {
      console.log(`${i} failed ${String(error.message || error).replace(/[\r\n]+/g, ' ')}`);
    }
  }
  const loaded = process.report.getReport().sharedObjects.find((name) => /directml\.dll$/i.test(name)) || 'none';
  // Ours has functions that Microsoft's has not.
  const ours = loaded !== 'none' && fs.readFileSync(loaded).includes('AnydmlCompileGraph');
  console.log(`DirectML: ${ours ? 'ours' : 'NOT ours'} ${loaded}`);
  process.exit(0);
}

main();
