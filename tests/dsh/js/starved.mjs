// Starts a link in a process that has no more files to open, and says what came of it.
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { bridge } from './bridge.mjs';

const { Link } = await bridge('link.js');
const { Restarts } = await bridge('restarts.js');

const said = [];
const link = new Link({
    start: () => ({ command: process.execPath, args: ['-e', ''], env: process.env }),
    greeting: () => ({}), onReady: () => { }, onGone: () => { }, onRoom: () => { }, handlers: {},
    settings: { callTimeoutMs: 1000, startTimeoutMs: 1000 },
    restarts: new Restarts(), notices: { say: text => said.push(text) },
});

const held = [];
try {
    for (;;) held.push(openSync('/dev/null'));
} catch {
    // That was the last one.
}
const code = await link.ask('tool', () => ({})).then(() => 'answered', error => error.code);
await sleep(100); // for errors that come late
held.forEach(closeSync);
process.stdout.write(JSON.stringify({ said, code, others: 'alive' }));
