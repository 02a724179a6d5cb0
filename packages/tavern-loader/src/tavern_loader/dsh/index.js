// The plugin as the host loads it: joins the parts. Nothing here may throw, for a plugin that does
// stops the boot of the host.
import { fileURLToPath } from 'node:url';
import { basename } from 'node:path';
import { Asker } from './asker.js';
import { Commands } from './commands.js';
import { Feed } from './feed.js';
import { hostCalls } from './host_calls.js';
import { API_PATH, HttpGate } from './http.js';
import { Lapses } from './lapses.js';
import { Link, PROTOCOL } from './link.js';
import { Notices } from './notices.js';
import { dshHome, pythonStart } from './python.js';
import { Restarts } from './restarts.js';
import { readSettings } from './settings.js';
import { hookSteps } from './step.js';
import { Locks, hookTools } from './tools.js';

export const name = 'tavern-loader';
export const inject = ['systemPrompt', 'agents', 'sessions'];

const DEFAULT_HISTORY_MESSAGES = 128;

export async function apply(ctx, config) {
    const notices = new Notices(ctx.logger);
    try {
        await new Bridge(ctx, config, notices).open();
    } catch (error) {
        notices.say(`the plugin cannot work in this host: ${error.stack}`);
    }
}

class Bridge {
    #sections = new Set();

    constructor(ctx, config, notices) {
        const { agents, sessions } = ctx;
        const { settings, remarks } = readSettings(config);
        remarks.forEach(remark => notices.say(remark));
        this.ctx = ctx;
        this.notices = notices;
        this.limits = { historyMessages: DEFAULT_HISTORY_MESSAGES };
        this.locks = new Locks(sessions);
        this.lapses = new Lapses(notices);
        const handlers = {};
        this.link = new Link({
            handlers, settings, notices,
            restarts: new Restarts(),
            start: () => pythonStart(settings),
            greeting: () => greeting(ctx, settings),
            onReady: hello => this.#greeted(hello),
            onGone: () => this.http.reset(),
            onRoom: () => this.feed.refreshAll(),
        });
        this.http = new HttpGate({ link: this.link });
        this.feed = new Feed({ link: this.link, sessions, agents, notices });
        this.asker = new Asker({ link: this.link, feed: this.feed, lapses: this.lapses, settings });
        this.commands = new Commands({ asker: this.asker, notices });
        Object.assign(handlers, hostCalls({ ctx, agents, sessions, locks: this.locks }), this.http.handlers);
    }

    async open() {
        const { ctx } = this;
        // First of all, so that it runs whatever happens later: a child that lives keeps the host alive.
        ctx.effect(() => () => this.link.dispose(), 'tavern-loader: Python');
        this.#watchSessions();
        this.#attempt('steps', () => hookSteps({ ...this, sessions: ctx.sessions }));
        this.#with('tools', inner => hookTools({ ctx: inner, asker: this.asker, locks: this.locks }));
        this.#with('commands', inner => inner.effect(() => this.commands.open(inner.commands)));
        this.#with('webServer', inner => inner.effect(() => inner.webServer.register({
            kind: 'prefix', path: API_PATH, handler: (request, response) => this.http.handle(request, response),
        })));
        // The host waits for this: Python is there before the first step.
        await this.link.begin();
    }

    #watchSessions() {
        const { ctx, feed } = this;
        ctx.on('agent/session-start', ({ agent, source }) => feed.started(agent.session, source));
        ctx.on('session/event', (session, event) => feed.happened(session, event));
        ctx.on('session/disposed', session => {
            feed.ended(session);
            this.lapses.forget(session.id);
        });
    }

    #greeted(hello) {
        this.limits.historyMessages = hello.historyMessages ?? DEFAULT_HISTORY_MESSAGES;
        for (const section of hello.sections ?? []) this.#anchor(section);
        this.commands.want(hello.commands);
        this.feed.reset(hello);
    }

    /** Register an empty section: a place for what Python answers. */
    #anchor({ name: section, order }) {
        if (this.#sections.has(section)) return;
        this.#sections.add(section);
        this.#attempt(`section ${section}`, () => this.ctx.systemPrompt.section({ name: section, order, text: '' }));
    }

    /** Do something as soon as the host has a service, and again when it comes back. */
    #with(service, use) {
        this.#attempt(service, () => this.ctx.inject([service], inner => this.#attempt(service, () => use(inner))));
    }

    #attempt(what, action) {
        try {
            action();
        } catch (error) {
            this.notices.say(`${what}: ${error.message}`);
        }
    }
}

function greeting(ctx, settings) {
    return {
        protocol: PROTOCOL, pid: process.pid, node: process.versions.node,
        dshHome: dshHome(), profile: profileOf(ctx.baseUrl), config: settings,
    };
}

/** @returns the name of the profile, whose folder is where the host's configuration is */
function profileOf(baseUrl) {
    return baseUrl?.startsWith('file:') ? basename(fileURLToPath(new URL('.', baseUrl))) : null;
}
