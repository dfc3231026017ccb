/** Tool that gives what was left out of results. */
export const READ_RESULT = {
  name: 'read_result',
  title: 'Read a result that was cut',
  description:
    'Reads on in a tool result that was too long: page by page from an offset, or what a JMESPath expression picks of it. An answer that was cut has the handle.',
  inputSchema: {
    type: 'object',
    properties: {
      handle: { type: 'string', description: 'The handle, as the answer that was cut says it.' },
      pick: { type: 'string', description: 'JMESPath expression, such as items[?price > `10`].name' },
      offset: { type: 'integer', minimum: 0, description: 'Character at which to begin; 0 by default.' },
    },
    required: ['handle'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
} as const

/** Tool that gives the answer of a call which took longer than its client waits. */
export const RESULT = {
  name: 'result',
  title: 'Result of a call that goes on',
  description:
    'Waits for a call that takes long and goes on by itself, and gives its answer. The answer that said so has the handle. With cancel it is ended.',
  inputSchema: {
    type: 'object',
    properties: {
      handle: { type: 'string', description: 'The handle, as the answer of the call says it.' },
      wait_ms: {
        type: 'integer',
        minimum: 0,
        description:
          'Longest wait in milliseconds; 0 only looks. By default as long as you wait for any call.',
      },
      cancel: { type: 'boolean', description: 'True to end the call.' },
    },
    required: ['handle'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
} as const
