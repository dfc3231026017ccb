import { durationText, type ExplainStep, type PluginApi } from '../../src/plugin.ts'
import { type Rule, ruleOfClient, type Rules } from './rules.ts'

/** Says what would be done to the result of a call. */
export function explainShape(
  { hooks, clientFacts }: Pick<PluginApi, 'hooks' | 'clientFacts'>,
  rules: Rules,
): void {
  hooks.explain.tap((steps, { exchange, entry, call }) => {
    if (entry === undefined || call === undefined) return undefined
    const rule = rules.for(entry.exposed, entry.upstream, exchange.session.profile)
    if (rule === undefined) return undefined
    const { client } = exchange.session
    return [...steps, ...stepsOf(ruleOfClient(rule, () => clientFacts(client.info.name)))]
  })
}

function stepsOf({ pick, drop, maxBytes, ask, patienceMs, from }: Rule): ExplainStep[] {
  const texts = [
    patienceMs === undefined
      ? undefined
      : `a call that takes longer than ${durationText(patienceMs)} goes on by itself`,
    drop.length === 0 ? undefined : `${drop.length} paths are left out of the result`,
    pick === undefined ? undefined : `of the result is picked: ${pick.text}`,
    ask ? 'the caller may say what it wants of the result' : undefined,
    maxBytes === undefined
      ? undefined
      : `a result of more than ${maxBytes} bytes is cut, and kept whole for the caller`,
  ]
  const [place] = from
  const rule = place === undefined ? {} : { rule: place }
  return texts
    .filter(text => text !== undefined)
    .map(text => ({ by: 'shape', at: 'server', does: 'changes', text, ...rule }))
}
