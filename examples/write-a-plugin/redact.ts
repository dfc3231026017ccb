import { Payload, type Plugin } from 'tapgate/plugin'

/** Replaces words in tool results. */
const plugin: Plugin<{ words: string[]; with?: string }> = {
  name: 'redact',
  schema: {
    type: 'object',
    properties: {
      words: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 },
      with: { type: 'string' },
    },
    required: ['words'],
    additionalProperties: false,
  },
  setup({ options, hooks, log }) {
    // Prepare once, not for each result.
    const { words, with: mask = '•••' } = options
    const clean = (value: unknown): unknown =>
      typeof value === 'string' ? words.reduce((text, word) => text.replaceAll(word, mask), value) : value

    hooks.response.tap({ methods: ['tools/call'], stage: 'transform' }, (answer, exchange) => {
      if (!('result' in answer)) return undefined
      const before = answer.result.value()
      const after = JSON.parse(JSON.stringify(before), (_key, value) => clean(value)) as typeof before
      if (JSON.stringify(after) === JSON.stringify(before)) return undefined
      log.info('redacted an answer', { tool: exchange.params?.name })
      return { result: Payload.of(after, answer.result.era) }
    })
  },
}
export default plugin
