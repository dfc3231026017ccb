import { answer, isObject, type Answer, type Plugin } from 'tapgate/plugin'

// #region unwrap
/** Takes calls of a tool `run`, whose arguments say which tool is meant, for calls of that tool. */
export const run: Plugin<never> = {
  name: 'run',
  setup({ hooks }) {
    hooks.unwrap.tap({ methods: ['tools/call'] }, ({ params }) => {
      if (params?.name !== 'run' || !isObject(params.arguments)) return undefined
      const { tool, input } = params.arguments
      return typeof tool === 'string' && isObject(input) ? { name: tool, arguments: input } : undefined
    })
  },
}
// #endregion unwrap

// #region carriedRequest
/** Takes calls of a tool `open`, whose argument is a URI, for requests of that resource. */
export const open: Plugin<never> = {
  name: 'open',
  setup({ hooks }) {
    hooks.unwrap.tap({ methods: ['tools/call'] }, ({ params }) => {
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

// #region rank
/** Puts tools first whose names are short. */
export const shortFirst: Plugin<never> = {
  name: 'short-first',
  setup({ hooks }) {
    hooks.rank.tap((_query, candidates) => candidates.map(({ exposed }) => -exposed.length))
  },
}
// #endregion rank

// #region callTool
/** Answers calls of a tool `all`, whose arguments name several tools, with what each of them says. */
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
