// An answer put into an assembly.
import assert from 'node:assert/strict';
import test from 'node:test';
import { bridge } from './bridge.mjs';

const { applyAnswer } = await bridge('answer.js');

const section = (name, text) => ({ name, text });
const made = () => ({
    sections: [section('identity', 'You are.'), section('t:profile', ''), section('policy', ''), section('last', 'End.')],
    contexts: [{ name: 'sandbox', text: 'on' }],
    variables: { cwd: '/' },
    tools: [],
});
const parts = [section('t:part:0', 'A'), section('t:part:1', 'B')];

test('parts stand where the empty section stood', () => {
    const assembly = made();
    applyAnswer(assembly, {
        replace: { name: 't:profile', parts },
        set: [section('policy', 'No.'), section('last', 'ignored'), section('unknown', 'x')],
        contexts: [{ name: 'late', text: 'L' }, { name: 'sandbox', text: 'off' }],
        variables: { lb: '{{' },
    });
    assert.deepEqual(assembly, {
        sections: [section('identity', 'You are.'), ...parts, section('policy', 'No.'), section('last', 'End.')],
        contexts: [{ name: 'late', text: 'L' }, { name: 'sandbox', text: 'off' }],
        variables: { cwd: '/', lb: '{{' },
        tools: [],
    });
});

test('only what is kept stays, by name or beginning', () => {
    const assembly = made();
    applyAnswer(assembly, { replace: { name: 't:profile', parts }, keep: ['t:part:', 'policy', 'las'] });
    assert.deepEqual(assembly.sections.map(one => one.name), ['t:part:0', 't:part:1', 'policy']);
});

test('no parts leave nothing in the place', () => {
    const assembly = made();
    applyAnswer(assembly, { replace: { name: 't:profile', parts: [] } });
    assert.deepEqual(assembly.sections.map(one => one.name), ['identity', 'policy', 'last']);
});

test('a section that somebody filled is left alone', () => {
    const assembly = made();
    assembly.sections[1].text = 'taken';
    applyAnswer(assembly, { replace: { name: 't:profile', parts } });
    assert.deepEqual(assembly.sections.map(one => one.text), ['You are.', 'taken', '', 'End.']);
});

test('parts without a place are an error, and change nothing', () => {
    const assembly = made();
    assembly.sections.splice(1, 1);
    const before = structuredClone(assembly);
    assert.throws(() => applyAnswer(assembly, { replace: { name: 't:profile', parts } }), /t:profile is not there/);
    assert.deepEqual(assembly, before);
});
