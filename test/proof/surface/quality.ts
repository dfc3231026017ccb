import { ToolIndex } from '../../../plugins/surface/search/ranking.ts'
import { liveTasks } from '../../fixtures/live-mcp-tool/index.ts'
import { gradedQueries, gradedTools } from '../../fixtures/mcpproxy-go/index.ts'
import { share, type Figure } from './figures.ts'
import { entryOf, liveEntries } from './tools.ts'

const AT = [5, 10] as const
const WANTED = { 5: 0.8, 10: 0.9 } as const

/**
 * Tools that tasks of LiveMCPBench need, found by the numbered steps of these tasks: a tool counts where any step of its task finds it. A
 * name that several servers have is right with each.
 */
export function steps(): Figure[] {
  const entries = liveEntries()
  const index = new ToolIndex(entries)
  const known = new Set(entries.map(({ original }) => original))
  const found = (query: string): string[] => index.search(query, 10).map(({ entry }) => entry.original)
  const wanted = liveTasks().flatMap(({ steps: own, question, tools }) => {
    const byStep = own.map(found)
    const byAny = [...byStep, found(question)]
    return tools
      .filter(tool => known.has(tool))
      .map((tool, place) => ({
        tool,
        byStep,
        byAny,
        // Where a task has as many steps as tools, each step is about its own.
        own: own.length === tools.length ? byStep[place] : undefined,
      }))
  })
  const has = (lists: readonly (readonly string[])[], tool: string, at: number): boolean =>
    lists.some(list => list.slice(0, at).includes(tool))
  const paired = wanted.filter(({ own }) => own !== undefined)
  return [
    ...AT.map(at =>
      share(
        `LiveMCPTool, ${wanted.length} tools by the steps of their tasks: recall@${at}`,
        wanted.filter(({ tool, byStep }) => has(byStep, tool, at)).length / wanted.length,
        WANTED[at],
        true,
      ),
    ),
    ...AT.map(at =>
      share(
        `… by the steps or the whole question: recall@${at}`,
        wanted.filter(({ tool, byAny }) => has(byAny, tool, at)).length / wanted.length,
      ),
    ),
    ...AT.map(at =>
      share(
        `… ${paired.length} tools by their own step, where there is one each: recall@${at}`,
        paired.filter(({ tool, own }) => has([own ?? []], tool, at)).length / paired.length,
      ),
    ),
  ]
}

/** The 47 graded queries of mcpproxy-go over its 45 tools: the mean part of the right tools among the first. */
export function graded(): Figure[] {
  const index = new ToolIndex(
    gradedTools().map(({ server, tool, description }) => entryOf(server, { name: tool, description })),
  )
  const queries = gradedQueries()
  const recall = (at: number): number => {
    const parts = queries.map(({ query, right }) => {
      const found = new Set(index.search(query, at).map(({ entry }) => `${entry.upstream}:${entry.original}`))
      return right.filter(id => found.has(id)).length / right.length
    })
    return parts.reduce((all, part) => all + part, 0) / parts.length
  }
  return [
    share(`mcpproxy-go, ${queries.length} graded queries (theirs 0.68): recall@5`, recall(5), 0.78),
    share('… recall@10', recall(10)),
  ]
}
