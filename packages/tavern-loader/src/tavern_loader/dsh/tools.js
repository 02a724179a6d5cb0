// Tool calls: Python gives a verdict on each; where it gives none, locked sessions get none through.

/** @param {{ctx: object, asker: object, locks: object, notices: object}} parts `ctx` has the service `tools` */
export function hookTools({ ctx, asker, locks, notices }) {
    const verdicts = new WeakMap();

    // The host asks the guard even where another plugin has allowed the call before ours was asked.
    ctx.tools.guard(execution => {
        const { agent } = execution;
        if (agent === undefined) return undefined;
        const verdict = verdicts.get(execution);
        if (verdict !== undefined) return verdict.deny || undefined;
        const reason = locks.reasonFor(agent.session);
        if (reason !== undefined) {
            notices.say(`session ${agent.session.id}: a call that Python has not judged is refused: it is in role-play mode`);
        }
        return reason;
    });

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
}
