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
import { Locks } from './locks.js';
import { Notices } from './notices.js';
import { dshHome, pythonStart } from './python.js';
import { Restarts } from './restarts.js';
import { readSettings } from './settings.js';
import { hookSteps } from './step.js';
import { hookTools } from './tools.js';

export { offer } from './processes.js';
export const name = 'tavern-loader';

// Not declared as `inject`: Python starts while the host is still making these.
const NEEDED = ['systemPrompt', 'agents', 'sessions'];
// Known before Python says so: where it comes late, a step has the places for its parts all the same.
const SECTIONS = [{ name: 'pmp-dsh-tavern:profile', order: 10 }, { name: 'rp:policy', order: 45 }];
const DEFAULT_HISTORY_MESSAGES = 128;

/**
 * @param {{lockOf?: (session: object, sessions: object) => string | undefined, holdLocks?: () => void}} locks
 *   why the tools of a session are refused that Python has not spoken of; to be called where nobody here
 *   will ask that. The host, which would take an answer for an effect, gives neither.
 */
export async function apply(ctx, config, { lockOf, holdLocks } = {}) {
    const notices = new Notices(ctx.logger);
    try {
        await new Bridge(ctx, config, notices, lockOf).begin();
    } catch (error) {
        notices.say(`the plugin cannot work in this host: ${error.stack}`);
        holdLocks?.();
    }
}

class Bridge {
    #sections = new Set();
    #handlers = {};
    /** What Python said of itself, and what there is to tell it of; each may come first. */
    #hello;
    #open;

    constructor(ctx, config, notices, lockOf) {
        const { settings, remarks } = readSettings(config);
        remarks.forEach(remark => notices.say(remark));
        this.ctx = ctx;
        this.lockOf = lockOf;
        this.notices = notices;
        this.settings = settings;
        this.lapses = new Lapses(notices);
        this.link = new Link({
            handlers: this.#handlers, settings, notices,
            restarts: new Restarts(),
            start: () => pythonStart(settings),
            greeting: () => greeting(ctx, settings),
            onReady: hello => this.#greeted(hello),
            onGone: () => this.http.reset(),
            onRoom: () => this.#open?.feed.refreshAll(),
        });
        this.http = new HttpGate({ link: this.link });
        Object.assign(this.#handlers, this.http.handlers);
    }

    async begin() {
        const { ctx } = this;
        // First of all, so that it runs whatever happens later: a child that lives keeps the host alive.
        ctx.effect(() => () => this.link.dispose(), 'tavern-loader: Python');
        this.#with(NEEDED, inner => this.#openIn(inner));
        this.#with(['webServer'], inner => inner.effect(() => inner.webServer.register({
            kind: 'prefix', path: API_PATH, handler: (request, response) => this.http.handle(request, response),
        })));
        // The boot waits for this: with it, commands and routes are there.
        await this.link.begin();
    }

    /** The host has sessions and agents. */
    #openIn(ctx) {
        const { link, notices, lapses, settings } = this;
        const { agents, sessions, systemPrompt } = ctx;
        const limits = { historyMessages: DEFAULT_HISTORY_MESSAGES };
        const locks = new Locks(sessions, this.lockOf);
        const feed = new Feed({ link, sessions, agents, locks, notices });
        const asker = new Asker({ link, feed, lapses, settings });
        const commands = new Commands({ asker, notices });
        Object.assign(this.#handlers, hostCalls({ ctx, agents, sessions, locks }));
        this.#watchSessions(ctx, feed, locks);
        this.#attempt('steps', () => hookSteps({ ctx, asker, feed, sessions, limits }));
        this.#with(['tools'], inner => hookTools({ ctx: inner, asker, locks, notices }), ctx);
        this.#with(['commands'], inner => inner.effect(() => commands.open(inner.commands)), ctx);
        ctx.effect(() => () => {
            this.#open = undefined;
            this.#sections.clear();
        });
        this.#open = { feed, commands, limits, systemPrompt };
        SECTIONS.forEach(section => this.#anchor(section));
        this.#introduce();
    }

    #watchSessions(ctx, feed, locks) {
        ctx.on('agent/session-start', ({ agent, source }) => feed.started(agent.session, source));
        ctx.on('session/event', (session, event) => feed.happened(session, event));
        ctx.on('session/disposed', session => {
            feed.ended(session);
            locks.forget(session.id);
            this.lapses.forget(session.id);
        });
    }

    #greeted(hello) {
        this.#hello = hello;
        this.#introduce();
    }

    /** Both sides are there: do what Python wants, and tell it everything. */
    #introduce() {
        if (this.#hello === undefined || this.#open === undefined) return;
        const { historyMessages = DEFAULT_HISTORY_MESSAGES, sections = [], commands } = this.#hello;
        this.#open.limits.historyMessages = historyMessages;
        for (const section of sections) this.#anchor(section);
        this.#open.commands.want(commands);
        this.#open.feed.reset(this.#hello);
    }

    /** Register an empty section: a place for what Python answers. */
    #anchor({ name: section, order }) {
        if (this.#sections.has(section)) return;
        this.#sections.add(section);
        this.#attempt(`section ${section}`, () => this.#open.systemPrompt.section({ name: section, order, text: '' }));
    }

    /** Do something as soon as the host has services, and again when they come back. */
    #with(services, use, ctx = this.ctx) {
        const what = services.join(', ');
        this.#attempt(what, () => ctx.inject(services, inner => this.#attempt(what, () => use(inner))));
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
