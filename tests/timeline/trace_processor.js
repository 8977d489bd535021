// Perfetto's trace processor on a Unix socket, in Node:
//
//   node trace_processor.js FOLDER SOCKET
//
// FOLDER holds it as WebAssembly, as Perfetto's own user interface comes: engine_bundle.js, which is
// written for a browser's worker, and trace_processor.wasm. What comes in by the socket goes to it, what
// it answers goes back: both are a stream of TraceProcessorRpc messages, as `trace_processor server unix`
// speaks them.
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');
const vm = require('vm');

const [folder, socketPath] = process.argv.slice(2);
const host = process;

// What the bundle looks for in a worker.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = Object;
globalThis.location = {href: 'https://worker.invalid/'};
globalThis.XMLHttpRequest = class {
  open(_method, url) { this.file = path.join(folder, path.basename(url)); }
  send() { this.response = fs.readFileSync(this.file); }
};
globalThis.console.warn = () => {};  // system calls that a browser has not

// It refuses to run where it sees Node's `process`.
Object.defineProperty(globalThis, 'process', {value: undefined, writable: true});
vm.runInThisContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'));
globalThis.process = host;

let client = null;
const port = {postMessage: data => client.write(data)};
globalThis.onmessage({data: port});

net.createServer(connection => {
  client = connection;
  connection.on('data', data => port.onmessage({data: new Uint8Array(data)}));
}).listen(socketPath);
