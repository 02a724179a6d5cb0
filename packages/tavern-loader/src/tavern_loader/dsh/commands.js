// Slash commands: Python says which there are and answers them.

/** Registers commands once both sides are there; each name once, however often Python starts. */
export class Commands {
    #service;
    #wanted = new Map();
    #registered = new Set();

    constructor({ asker, notices }) {
        this.asker = asker;
        this.notices = notices;
    }

    /** The host's service has come. @returns what to do when it goes */
    open(service) {
        this.#service = service;
        this.#register();
        return () => {
            this.#service = undefined;
            this.#registered.clear();
        };
    }

    want(commands = []) {
        for (const command of commands) this.#wanted.set(command.name, command);
        this.#register();
    }

    #register() {
        if (this.#service === undefined) return;
        for (const { name, description, hint } of this.#wanted.values()) {
            if (this.#registered.has(name)) continue;
            this.#registered.add(name);
            const input = hint ? { input: { hint } } : {};
            const handler = invocation => this.#run(name, invocation);
            try {
                this.#service.register({ name, description, ...input, handler });
            } catch (error) {
                this.notices.say(`the command /${name} cannot be registered: ${error.message}`);
            }
        }
    }

    async #run(name, { agent, rawInput, signal }) {
        const ask = () => ({ name, arguments: rawInput.trim() });
        const answer = await this.asker.ask('command', agent.session, ask, { signal });
        if (answer === undefined) return { kind: 'error', text: 'Tavern cannot be asked now.' };
        return { kind: 'success', ...answer.text ? { text: answer.text } : {} };
    }
}
