// The hooks of a step: each asks Python and applies the answer, or goes on without it.
import { applyAnswer } from './answer.js';
import { acceptable } from './preflight.js';
import { historyOf, officialEvents, officialMessages } from './sessions.js';

const OUTERMOST = { prepend: true };
const CONFIG_KEYS = ['provider', 'model', 'reasoningEffort', 'temperature', 'maxTokens', 'stop'];
const MESSAGE_CHARACTERS = 500;

/** @param {{ctx: object, asker: object, feed: object, sessions: object, limits: object}} parts */
export function hookSteps({ ctx, asker, feed, sessions, limits }) {
    ctx.on('system-prompt/assemble', async (assembly, context, next) => {
        if (context.agent === undefined) return next();
        const { session } = context.agent;
        await assemble(asker, limits, session, assembly, context.signal);
        const result = await next();
        // The host says turn and step to other hooks only.
        feed.tell('assembled', session, () => {
            const { sections, contexts, variables } = result;
            return { turn: null, step: null, sections, contexts, variables };
        });
        return result;
    }, OUTERMOST);

    ctx.on('agent/pre-step', async (payload, next) => {
        const { agent, turn, step, signal } = payload;
        const decision = await next();
        if (!signal.aborted) {
            const rejected = decision.kind === 'reject';
            await asker.ask('pre-step', agent.session, () => ({ turn, step, rejected }), { signal, at: { turn, step } });
        }
        return decision;
    }, OUTERMOST);

    ctx.on('agent/request', async (payload, next) => {
        const { agent, turn, step, signal } = payload;
        const config = await next();
        const ask = async refused => {
            const params = () => ({ turn, step, config, refused });
            const answer = await asker.ask('request', agent.session, params, { signal, at: { turn, step }, isNeeded: true });
            return answer?.config;
        };
        const configured = await ask(null);
        if (configured === undefined) return config;
        return acceptable({ config: configured, llm: ctx.get('llm'), signal, again: ask });
    }, OUTERMOST);

    // The host's retry plugin answers without asking further: only the outermost sees every failure.
    ctx.on('agent/request-error', async (payload, next) => {
        const { agent, turn, step, failure } = payload;
        const action = await next();
        const retry = action?.kind === 'retry';
        feed.tell('request-error', agent.session, () => ({ turn, step, failure, retry }));
        return action;
    }, OUTERMOST);

    ctx.on('agent/error', ({ agent, error, turn = null, step = null }) => {
        const { name, code, message } = error ?? {};
        const text = String(message ?? error).slice(0, MESSAGE_CHARACTERS);
        feed.tell('agent-error', agent.session, () => ({ turn, step, error: { name, code, message: text } }));
    });

    ctx.on('llm/stream', (options, next) => {
        const session = sessions.get(options.sessionId);
        if (session !== undefined) feed.tell('stream', session, () => streamOf(options, session));
        return next();
    }, OUTERMOST);
}

async function assemble(asker, limits, session, assembly, signal) {
    const answer = await asker.ask('assemble', session, () => ({
        turn: null,
        step: null,
        sections: assembly.sections.map(({ name, text }) => ({ name, text })),
        variables: assembly.variables,
        tools: assembly.tools.map(tool => tool.name),
        ...historyOf(session, limits.historyMessages),
        lapses: asker.lapses.of(session.id),
    }), { signal, isNeeded: true });
    if (answer === undefined) return;
    asker.lapses.forget(session.id);
    try {
        if (answer.failed) throw new Error(answer.failed);
        applyAnswer(assembly, answer);
    } catch (error) {
        asker.miss('assemble', session, error, { isNeeded: true });
    }
}

function streamOf(options, session) {
    return {
        purpose: options.purpose ?? null,
        system: options.system ?? null,
        messages: officialMessages(options.messages),
        surface: officialEvents(session),
        provider: options.provider,
        model: options.model,
        toolNames: (options.tools ?? []).map(tool => tool.name),
        logCutSeq: session.seq - 1,
        config: Object.fromEntries(CONFIG_KEYS.filter(key => key in options).map(key => [key, options[key]])),
    };
}
