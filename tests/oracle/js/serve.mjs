// One request a line on stdin, one answer a line on stdout: `{run: case}` or `{time: case, repeat}`.
import { createInterface } from 'node:readline';
import { loadEngine } from './engine.mjs';

const write = value => process.stdout.write(`${JSON.stringify(value)}\n`);
const engine = await loadEngine(process.argv[2]);
write({ node: process.versions.node });
for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    write(request.run ? await engine.run(request.run) : await engine.time(request.time, request.repeat));
}
