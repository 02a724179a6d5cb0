// What other plugins may do to a step: each takes the context of one agent.

const PART = 'pmp-dsh-tavern:part:';

export const RIGS = {
    /** A section that replaces the whole prompt. */
    complete: ctx => ctx.systemPrompt.section({ name: 'rig:complete', order: 5, text: 'Only this.', complete: true }),

    /** A listener that lets nobody else have a say. */
    veto: ctx => ctx.on('system-prompt/assemble', async assembly => ({
        ...assembly, sections: [{ name: 'rig:veto', text: 'Vetoed.' }],
    })),

    /** A listener that gives parts another text. */
    rewrite: ctx => ctx.on('system-prompt/assemble', async (assembly, context, next) => {
        const result = await next();
        const sections = result.sections.map(section => (
            section.name.startsWith(PART) ? { ...section, text: `<${section.text}>` } : section
        ));
        return { ...result, sections };
    }),

    /** A listener that fills the section where parts would stand. */
    occupy: ctx => ctx.systemPrompt.section({ name: 'pmp-dsh-tavern:profile', order: 10, text: 'Taken.' }),

    reject: ctx => ctx.on('agent/pre-step', async () => ({ kind: 'reject' })),

    throw: ctx => ctx.on('agent/pre-step', async () => { throw new Error('rigged'); }),

    /** A policy plugin that allows every tool call without asking further. */
    allow: ctx => ctx.on('tools/pre-execute', async () => ({ kind: 'allow' }), { prepend: true }),
};
