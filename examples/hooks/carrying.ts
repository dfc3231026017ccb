import { answer, isObject, type Answer, type Plugin } from 'tapgate/plugin'

// #region unwrap
/** Converts calls of a tool `run` to calls of the tool in its arguments. */
export const run: Plugin<never> = {
  name: 'run',
  setup({ hooks }) {
    hooks.request.tap({ methods: ['tools/call'], stage: 'unwrap' }, ({ params }) => {
      if (params?.name !== 'run' || !isObject(params.arguments)) return undefined
      const { tool, input } = params.arguments
      return typeof tool === 'string' && isObject(input) ? { name: tool, arguments: input } : undefined
    })
  },
}
// #endregion unwrap

// #region carriedRequest
/** Converts calls of a tool `open` to `resources/read` of the URI in its arguments. */
export const open: Plugin<never> = {
  name: 'open',
  setup({ hooks }) {
    hooks.request.tap({ methods: ['tools/call'], stage: 'unwrap' }, ({ params }) => {
      if (params?.name !== 'open' || !isObject(params.arguments)) return undefined
      const { uri } = params.arguments
      return { method: 'resources/read', params: { uri }, convertAnswer: textOfResource }
    })
  },
}

function textOfResource(read: Answer): Answer {
  if (!('result' in read)) return read
  return answer({ content: [{ type: 'text', text: JSON.stringify(read.result.value().contents) }] })
}
// #endregion carriedRequest

// #region callTool
/** Answers calls of a tool `all` with the results of all tools in its arguments. */
export const all: Plugin<never> = {
  name: 'all',
  setup({ hooks }) {
    hooks.request.tap({ methods: ['tools/call'], stage: 'transform' }, async exchange => {
      const { name, arguments: args } = exchange.params ?? {}
      if (name !== 'all' || !isObject(args) || !Array.isArray(args.tools)) return undefined
      const answers = await Promise.all(args.tools.map(tool => exchange.callTool(String(tool), {})))
      const texts = answers.map(one => ('error' in one ? one.error.message : 'result' in one ? one.result.value() : ''))
      return answer({ content: [{ type: 'text', text: JSON.stringify(texts) }] })
    })
  },
}
// #endregion callTool
