// As much of the host as the plugin touches, for shapes of it that cannot be run.
export class FakeHost {
    #listeners = new Map();
    disposers = [];
    sections = [];
    commands = { register: command => { this.registered = command; } };
    tools = { guard: guard => { this.guard = guard; } };
    systemPrompt = { section: section => { this.sections.push(section); } };

    constructor(...sessions) {
        const known = new Map(sessions.map(session => [session.id, session]));
        this.sessions = { get: id => known.get(id), list: () => [...known.values()] };
        this.agents = { get: id => this.#agents.get(id) };
        this.#agents = new Map(sessions.map(session => [session.id, { id: session.id, session, status: 'running', cancel: () => { } }]));
    }

    #agents;

    agent(id) {
        return this.#agents.get(id);
    }

    get(service) {
        return this[service];
    }

    effect(start) {
        this.disposers.push(start());
    }

    inject(services, use) {
        if (services.every(service => this[service] !== undefined)) use(this);
    }

    on(event, listener, { prepend = false } = {}) {
        const listeners = this.#listeners.get(event) ?? [];
        this.#listeners.set(event, prepend ? [listener, ...listeners] : [...listeners, listener]);
    }

    emit(event, ...args) {
        for (const listener of this.#listeners.get(event) ?? []) listener(...args);
    }

    waterfall(event, ...args) {
        const last = args.pop();
        const run = at => {
            const listener = this.#listeners.get(event)?.[at];
            return listener === undefined ? last() : listener(...args, () => run(at + 1));
        };
        return run(0);
    }

    async dispose() {
        for (const dispose of this.disposers.reverse()) await dispose?.();
    }
}
