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
