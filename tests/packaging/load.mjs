// node load.mjs ADDRESS REQUESTS CONNECTIONS INPUTS: asks a server's /predict, and prints latencies in ms and its
// resident memory in MB after a fifth of the requests and after all, as JSON.
import { Agent, request } from "node:http";

const [address, requests, connections, inputs] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number(connections) });
const row = Buffer.from(new Float32Array(Number(inputs)).fill(0.5).buffer);

function ask(path, body) {
  return new Promise((resolve, reject) => {
    const headers = body ? { "Content-Type": "application/octet-stream", "Content-Length": body.length } : {};
    const options = { agent, method: body ? "POST" : "GET", headers };
    const sent = request(address + path, options, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${response.statusCode} ${text}`));
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const memory = async () => Number(/process_resident_memory_bytes (\d+)/.exec(await ask("/metrics"))[1]) / 1e6;
const times = [];
async function some(count) {
  let left = count;
  const one = async () => {
    while (left-- > 0) {
      const began = performance.now();
      await ask("/predict", row);
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: Number(connections) }, one));
}

await some(Math.floor(requests / 5));
const early = await memory();
const began = performance.now();
await some(Math.ceil((requests * 4) / 5));
const rate = Math.ceil((requests * 4) / 5) / ((performance.now() - began) / 1000);
// the least of some readings: Bun's collector lets garbage lie for a second
let late = await memory();
for (let i = 0; i < 8; i++) {
  await new Promise((resolve) => setTimeout(resolve, 250));
  late = Math.min(late, await memory());
}
times.sort((a, b) => a - b);
const at = (share) => +times[Math.min(times.length - 1, Math.floor(times.length * share))].toFixed(2);
console.log(
  JSON.stringify({ requests: times.length, p50: at(0.5), p99: at(0.99), rate: Math.round(rate), early, late }),
);
process.exit(0);
