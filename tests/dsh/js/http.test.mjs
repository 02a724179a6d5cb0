// The web server's requests over the link: pieces, windows, ends. A real server and a real client.
import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bridge } from './bridge.mjs';

const { HttpGate } = await bridge('http.js');
const WINDOW = 256 * 1024;

/** A server whose routes go through the gate to `onTell`, which stands for Python. */
async function scene(onTell) {
    const told = [];
    const link = {
        isUp: true,
        async begin() { it.begun = (it.begun ?? 0) + 1; },
        tell(method, params) {
            told.push([method, params]);
            setImmediate(() => onTell(method, params, it));
            return true;
        },
    };
    const gate = new HttpGate({ link });
    const server = createServer((req, res) => gate.handle(req, res));
    await new Promise(resolve => { server.listen(0, '127.0.0.1', resolve); });
    const it = {
        gate, link, told, port: server.address().port,
        from: (method, params) => gate.handlers[method](params),
        methods: () => told.map(([method]) => method),
        bodyBytes: () => told.filter(([method]) => method === 'http/body').reduce((sum, [, { data }]) => sum + Buffer.from(data, 'base64').length, 0),
        close: () => { server.closeAllConnections(); server.close(); },
    };
    return it;
}

function send(port, { method = 'GET', path = '/pmp-dsh-tavern/api/v1/x?a=%20', headers = {}, body } = {}) {
    return new Promise((resolve, reject) => {
        const req = request({ port, host: '127.0.0.1', method, path, headers }, async res => {
            const chunks = [];
            for await (const chunk of res) chunks.push(chunk);
            resolve({ status: res.statusCode, headers: res.headers, body: Buffer.concat(chunks).toString() });
        });
        req.once('error', reject);
        req.end(body);
    });
}

async function until(fact) {
    while (!fact()) await sleep(5);
}

const base64 = text => Buffer.from(text).toString('base64');

/** Python that acknowledges bodies at once and answers at their end. */
const echo = (method, { stream, data }, { from, bodyBytes }) => {
    if (method === 'http/body') from('http/ack', { stream, bytes: Buffer.from(data, 'base64').length });
    if (method !== 'http/end') return;
    from('http/head', { stream, status: 201, headers: [['content-type', 'text/plain'], ['x-two', '1'], ['x-two', '2']] });
    from('http/chunk', { stream, data: base64(`got ${bodyBytes()}`) });
    from('http/done', { stream });
};

test('a request goes over in order and its answer comes back', async () => {
    const it = await scene(echo);
    const answer = await send(it.port, { method: 'PUT', headers: { 'X-Odd': 'Value' }, body: 'hello' });
    assert.deepEqual([answer.status, answer.body, answer.headers['x-two']], [201, 'got 5', '1, 2']);
    const [[method, params]] = it.told;
    assert.equal(method, 'http/request');
    assert.deepEqual([params.stream, params.method, params.target], [1, 'PUT', '/pmp-dsh-tavern/api/v1/x?a=%20']);
    assert.ok(params.headers.some(([name, value]) => name === 'x-odd' && value === 'Value'));
    assert.equal(params.remote.address, '127.0.0.1');
    assert.equal(params.local.port, it.port);
    assert.deepEqual(it.methods().slice(1, 3), ['http/body', 'http/end']);
    it.close();
});

test('a large body waits until what was sent is used up', async () => {
    const it = await scene(() => { });
    const size = 3 * 1024 * 1024;
    const answer = send(it.port, { method: 'POST', body: Buffer.alloc(size, 1) });
    await sleep(200);
    assert.ok(it.bodyBytes() <= WINDOW, `${it.bodyBytes()} bytes`);
    assert.ok(!it.methods().includes('http/end'));
    while (!it.methods().includes('http/end')) {
        it.from('http/ack', { stream: 1, bytes: 64 * 1024 });
        await sleep(1);
    }
    assert.equal(it.bodyBytes(), size);
    it.from('http/head', { stream: 1, status: 204, headers: [] });
    it.from('http/done', { stream: 1 });
    assert.equal((await answer).status, 204);
    it.close();
});

test('an answer may come before the body is read', async () => {
    const it = await scene((method, { stream }, { from }) => {
        if (method !== 'http/request') return;
        from('http/head', { stream, status: 415, headers: [] });
        from('http/done', { stream });
    });
    const answer = await send(it.port, { method: 'POST', body: Buffer.alloc(1024 * 1024) });
    assert.equal(answer.status, 415);
    it.close();
});

test('what is left of a refused body is dropped, and the connection goes on', async () => {
    const it = await scene((method, { stream }, { from }) => {
        if (method !== 'http/request') return;
        from('http/head', { stream, status: 413, headers: [] });
        from('http/done', { stream });
    });
    const size = 8 * 1024 * 1024;
    const client = connect(it.port, '127.0.0.1');
    client.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${size}\r\n\r\n`);
    client.write(Buffer.alloc(size));
    client.end('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    let answers = '';
    for await (const piece of client) answers += piece;
    assert.equal(answers.match(/HTTP.1.1 413/g).length, 2);
    it.close();
});

test('chunks are acknowledged when the browser has taken them', async () => {
    const it = await scene((method, { stream }, { from }) => {
        if (method === 'http/end') from('http/head', { stream, status: 200, headers: [] });
    });
    const answer = send(it.port);
    await until(() => it.methods().includes('http/end'));
    for (let at = 0; at < 4; at++) it.from('http/chunk', { stream: 1, data: base64('x'.repeat(1000)) });
    const acks = () => it.told.filter(([method]) => method === 'http/ack').map(([, { bytes }]) => bytes);
    await until(() => acks().length === 4);
    assert.deepEqual(acks(), [1000, 1000, 1000, 1000]);
    it.from('http/done', { stream: 1 });
    assert.equal((await answer).body.length, 4000);
    it.close();
});

test('a browser that goes away is told, and its late answer goes nowhere', async () => {
    const it = await scene(() => { });
    const req = request({ port: it.port, host: '127.0.0.1', path: '/pmp-dsh-tavern/api/x' });
    req.on('error', () => { });
    req.end();
    await until(() => it.methods().includes('http/end'));
    req.destroy();
    await until(() => it.methods().length === 3);
    assert.deepEqual(it.methods(), ['http/request', 'http/end', 'http/abort']);
    it.from('http/head', { stream: 1, status: 200, headers: [] });
    it.from('http/chunk', { stream: 1, data: base64('late') });
    assert.deepEqual(it.methods().length, 3);
    it.close();
});

test('without Python there is a plain refusal', async () => {
    const it = await scene(() => { });
    it.link.isUp = false;
    const answer = await send(it.port);
    assert.deepEqual([answer.status, JSON.parse(answer.body).code], [503, 'TAVERN_HOST_UNAVAILABLE']);
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(it.begun, 1);
    it.close();
});

test('what Python was answering ends with it', async () => {
    const it = await scene((method, { stream }, { from }) => {
        if (method === 'http/end' && stream === 2) from('http/head', { stream, status: 200, headers: [] });
    });
    const [first, second] = [send(it.port), send(it.port)];
    await until(() => it.methods().filter(method => method === 'http/end').length === 2);
    await sleep(20);
    it.gate.reset();
    assert.equal((await first).status, 502);
    await assert.rejects(second);
    assert.equal((await (it.link.isUp = false, send(it.port))).status, 503);
    it.close();
});

test('there are only so many requests at once', async () => {
    const it = await scene(() => { });
    const open = Array.from({ length: 64 }, () => send(it.port).catch(() => { }));
    while (it.methods().filter(method => method === 'http/request').length < 64) await sleep(10);
    const answer = await send(it.port);
    assert.deepEqual([answer.status, JSON.parse(answer.body).code], [503, 'TAVERN_HOST_BUSY']);
    it.gate.reset();
    await Promise.all(open);
    it.close();
});

test('a body without end is cut off', async () => {
    const it = await scene((method, { stream, data }, { from }) => {
        if (method === 'http/body') from('http/ack', { stream, bytes: Buffer.from(data, 'base64').length });
    });
    const answer = await send(it.port, { method: 'POST', body: Buffer.alloc(41 * 1024 * 1024) }).catch(error => error);
    // The refusal may be overtaken by the end of the connection.
    assert.ok(answer.status === 413 || answer.code !== undefined, String(answer));
    assert.deepEqual(it.told.at(-1), ['http/abort', { stream: 1, reason: 'too-large' }]);
    it.close();
});
