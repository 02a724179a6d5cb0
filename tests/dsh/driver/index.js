// A plugin by which tests steer the host from within: requests, one a line, over a socket that the
// test listens on. When the socket closes, the host is asked to end.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { RIGS } from './rigs.js';

export const name = 'tavern-test-driver';
export const inject = ['agents', 'sessions', 'systemPrompt', 'tools', 'commands', 'agentDefaultModel', 'sessionPersistence'];

export function apply(ctx) {
    const driver = new Driver(ctx);
    const socket = connect(Number(process.env.TAVERN_DRIVER_PORT), '127.0.0.1');
    ctx.effect(() => () => socket.removeAllListeners('close').destroy(), 'tavern-test-driver: socket');
    socket.on('error', () => { });
    // Not by the service of the launcher: it leaves a boot that is not quite over with another code.
    socket.once('close', () => process.kill(process.pid, 'SIGTERM'));
    createInterface({ input: socket }).on('line', async line => {
        const { id, op, ...params } = JSON.parse(line);
        let answer;
        try {
            answer = { id, ok: await driver[op](params) ?? null };
        } catch (error) {
            answer = { id, error: String(error?.stack ?? error) };
        }
        socket.write(`${JSON.stringify(answer)}\n`);
    });
    ctx.get('loader')?.await().then(() => socket.write(`${JSON.stringify({ id: 0, ok: { pid: process.pid } })}\n`));
}

class Driver {
    #handles = new Map();

    constructor(ctx) {
        this.ctx = ctx;
    }

    get #options() {
        const { provider, model } = this.ctx.agentDefaultModel.currentSelection();
        return { provider, model };
    }

    #agent(session) {
        return this.ctx.agents.get(session);
    }

    async create({ session, cwd, parent, at }) {
        const seed = parent === undefined ? undefined : this.ctx.sessions.get(parent).events.slice(0, at + 1);
        const lineage = parent === undefined ? {} : { parentSession: parent, seedLength: seed.length };
        const handle = await this.ctx.agents.create({
            sessionId: session, agentOptions: this.#options, meta: { cwd, ...lineage }, ...seed ? { seed } : {},
        });
        this.#handles.set(session, handle);
    }

    async resume({ session }) {
        const handle = await this.ctx.agents.resume({ resumeSessionId: session, agentOptions: this.#options });
        this.#handles.set(session, handle);
    }

    /** End an agent; its session stays on the disk. */
    async dispose({ session }) {
        await this.ctx.sessions.flush(this.#agent(session).session);
        await this.#handles.get(session).dispose();
    }

    /** Say something to an agent, and wait until it has answered unless told otherwise. */
    async say({ session, text, wait = true, how = 'followup' }) {
        const agent = this.#agent(session);
        agent[how]({ id: randomUUID(), role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } });
        return wait ? this.wait({ session }) : null;
    }

    /** @returns how the latest turn ended */
    async wait({ session }) {
        const agent = this.#agent(session);
        await agent.whenIdle();
        return agent.session.events.findLast(event => event.type === 'turn/end')?.data.reason ?? null;
    }

    cancel({ session }) {
        this.#agent(session).cancel({ kind: 'user' });
    }

    /** @returns the session's events, or those of some types */
    events({ session, types }) {
        const { events } = this.ctx.sessions.get(session);
        return types === undefined ? events : events.filter(event => types.includes(event.type));
    }

    header({ session }) {
        return this.ctx.sessions.get(session).header;
    }

    sessions() {
        return this.ctx.sessions.list().map(session => session.header);
    }

    async command({ session, line }) {
        return this.ctx.commands.execute(this.#agent(session), line, [], AbortSignal.timeout(30_000));
    }

    async flush({ session }) {
        await this.ctx.sessions.flush(this.ctx.sessions.get(session));
    }

    port() {
        return this.ctx.get('webServer').port;
    }

    /** Begin to time every assembly, all plugins included. */
    watch() {
        this.timings = [];
        this.ctx.on('system-prompt/assemble', async (assembly, context, next) => {
            const begun = performance.now();
            const result = await next();
            this.timings.push(performance.now() - begun);
            return result;
        }, { prepend: true });
    }

    /** @returns the milliseconds of every assembly since the last time this was asked */
    timed() {
        return this.timings.splice(0);
    }

    /** Put something in the way of one agent. */
    rig({ session, kind }) {
        RIGS[kind](this.#agent(session).ctx);
    }
}
