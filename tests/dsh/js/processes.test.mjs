// A process that was started already, and who gets it. Node stands for Python.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'node:test';
import { bridge } from './bridge.mjs';

const { offer, pythonProcess } = await bridge('processes.js');

const NODE = process.execPath;
const echo = { command: NODE, args: ['-e', 'process.stdin.pipe(process.stdout)'], env: process.env };
const start = source => spawn(NODE, ['-e', source], { stdio: 'pipe' });

async function said(child, text) {
    child.stdin.end(text);
    let output = '';
    for await (const chunk of child.stdout) output += chunk;
    return output;
}

test('what was started already is taken once, and what it said before is not lost', async () => {
    const started = start('console.log("early"); process.stdin.pipe(process.stdout)');
    for (const part of [started, started.stdin, started.stdout, started.stderr]) part.unref();
    offer(NODE, started);
    await new Promise(resolve => { setTimeout(resolve, 300); });
    const first = pythonProcess(echo);
    const second = pythonProcess(echo);
    assert.equal(first, started);
    assert.notEqual(second, started);
    assert.equal(await said(first, 'hello'), 'early\nhello');
    assert.equal(await said(second, 'again'), 'again');
});

test('a process of another command is ended, not taken', async () => {
    const started = start('setTimeout(() => {}, 60_000)');
    offer('/another/python', started);
    const ended = once(started, 'close');
    assert.equal(await said(pythonProcess(echo), 'fresh'), 'fresh');
    assert.deepEqual(await ended, [null, 'SIGKILL']);
});

test('a process that has ended meanwhile is not taken', async () => {
    const started = start('');
    offer(NODE, started);
    await once(started, 'exit');
    assert.equal(await said(pythonProcess(echo), 'fresh'), 'fresh');
});

test('a process that could not be started is not taken', async () => {
    const started = spawn('/nowhere/python', [], { stdio: 'pipe' });
    started.once('error', () => { });
    offer(NODE, started);
    assert.equal(await said(pythonProcess(echo), 'fresh'), 'fresh');
});
