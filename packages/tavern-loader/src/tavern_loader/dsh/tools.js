// Tool calls: Python gives a verdict on each; where it cannot be asked, locked sessions get none through.

/** The sessions whose tools are refused without a verdict, and all that descend from them. */
export class Locks {
    #ids = new Set();
    #reason = '';

    constructor(sessions) {
        this.sessions = sessions;
    }

    set({ sessions = [], reason = '' }) {
        this.#ids = new Set(sessions);
        this.#reason = reason || 'locked';
    }

    /** @returns {string | undefined} why the tools of a session are refused */
    reasonFor(session) {
        const seen = new Set();
        for (let id = session.id; id !== undefined && !seen.has(id); id = this.#parentOf(id, session)) {
            if (this.#ids.has(id)) return this.#reason;
            seen.add(id);
        }
        return undefined;
    }

    #parentOf(id, session) {
        const known = id === session.id ? session : this.sessions.get(id);
        return known?.header.parentSession;
    }
}

/** @param {object} ctx a context with the service `tools` */
export function hookTools({ ctx, asker, locks }) {
    const verdicts = new WeakMap();

    ctx.on('tools/pre-execute', async (execution, next) => {
        const { agent, name, signal } = execution;
        if (agent === undefined) return next();
        const ask = () => ({ name, arguments: execution.arguments });
        const answer = await asker.ask('tool', agent.session, ask, { signal });
        if (answer === undefined) return next(); // the guard decides
        verdicts.set(execution, answer);
        if (answer.cancel) {
            // After the refusal is recorded, not within it.
            setImmediate(() => agent.cancel({ kind: 'hook', reason: answer.cancel }, { keepInbox: true }));
        }
        return answer.deny ? { kind: 'deny', reason: answer.deny } : next();
    }, { prepend: true });

    // The host asks the guard even where another plugin has allowed the call before ours was asked.
    ctx.tools.guard(execution => {
        if (execution.agent === undefined) return undefined;
        const verdict = verdicts.get(execution);
        return verdict === undefined ? locks.reasonFor(execution.agent.session) : verdict.deny || undefined;
    });
}
