import type { Command } from '@oclif/core/command'
import AgentsList from './commands/agents/list.ts'
import AgentsProbe from './commands/agents/probe.ts'
import AgentsRoute from './commands/agents/route.ts'
import AgentsRun from './commands/agents/run.ts'
import AuditVerify from './commands/audit/verify.ts'
import CacheLs from './commands/cache/ls.ts'
import CachePurge from './commands/cache/purge.ts'
import Call from './commands/call.ts'
import Completion from './commands/completion.ts'
import Help from './commands/help.ts'
import Import from './commands/import.ts'
import Inspect from './commands/inspect.ts'
import KeyNew from './commands/key/new.ts'
import Logs from './commands/logs.ts'
import PluginNew from './commands/plugin/new.ts'
import Ps from './commands/ps.ts'
import Reload from './commands/reload.ts'
import Restart from './commands/restart.ts'
import Serve from './commands/serve.ts'
import Start from './commands/start.ts'
import Stop from './commands/stop.ts'
import Tools from './commands/tools.ts'
import Validate from './commands/validate.ts'
import Wrap from './commands/wrap.ts'

/** Every command by its id. They are thin; what they do is imported when they run. */
export const COMMANDS: Readonly<Record<string, Command.Class>> = {
  serve: Serve,
  validate: Validate,
  inspect: Inspect,
  tools: Tools,
  call: Call,
  wrap: Wrap,
  import: Import,
  ps: Ps,
  start: Start,
  stop: Stop,
  restart: Restart,
  logs: Logs,
  reload: Reload,
  'agents:list': AgentsList,
  'agents:probe': AgentsProbe,
  'agents:run': AgentsRun,
  'agents:route': AgentsRoute,
  'cache:ls': CacheLs,
  'cache:purge': CachePurge,
  'audit:verify': AuditVerify,
  'plugin:new': PluginNew,
  'key:new': KeyNew,
  completion: Completion,
  help: Help,
}
