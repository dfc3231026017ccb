import { isObject, type Plugin } from 'tapgate/plugin'

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

// #region rank
/** Puts tools first whose names are short. */
export const shortFirst: Plugin<never> = {
  name: 'short-first',
  setup({ hooks }) {
    hooks.rank.tap((_query, candidates) => candidates.map(({ exposed }) => -exposed.length))
  },
}
// #endregion rank
