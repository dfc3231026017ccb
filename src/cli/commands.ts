import type { Command } from '@oclif/core/command'
import { builtins } from '../gateway/builtins.ts'
import Add from './commands/add/add.ts'
import Remove from './commands/add/remove.ts'
import Search from './commands/add/search.ts'
import Attach from './commands/background/attach.ts'
import Bundle from './commands/clients/bundle.ts'
import Call from './commands/call.ts'
import Connect from './commands/clients/connect.ts'
import Disconnect from './commands/clients/disconnect.ts'
import Completion from './commands/completion.ts'
import Doctor from './commands/doctor.ts'
import Down from './commands/background/down.ts'
import Errors from './commands/errors.ts'
import Explain from './commands/explain.ts'
import Help from './commands/help.ts'
import Import from './commands/import.ts'
import Init from './commands/init.ts'
import Inspect from './commands/inspect.ts'
import KeyNew from './commands/key/new.ts'
import Logs from './commands/logs.ts'
import Plan from './commands/plan.ts'
import PluginNew from './commands/plugin/new.ts'
import Ps from './commands/ps.ts'
import Reload from './commands/reload.ts'
import Restart from './commands/restart.ts'
import Serve from './commands/serve.ts'
import ServiceInstall from './commands/service/install.ts'
import ServiceStatus from './commands/service/status.ts'
import ServiceUninstall from './commands/service/uninstall.ts'
import Start from './commands/start.ts'
import Status from './commands/background/status.ts'
import Stop from './commands/stop.ts'
import Tools from './commands/tools.ts'
import Up from './commands/background/up.ts'
import Validate from './commands/validate.ts'
import Wrap from './commands/wrap.ts'
import { commandsOf } from './plugin-commands.ts'

/** Every command of ours by its id. They are thin; what they do is imported when they run. */
export const COMMANDS: Readonly<Record<string, Command.Class>> = {
  serve: Serve,
  validate: Validate,
  inspect: Inspect,
  tools: Tools,
  call: Call,
  explain: Explain,
  plan: Plan,
  wrap: Wrap,
  attach: Attach,
  up: Up,
  down: Down,
  status: Status,
  init: Init,
  'service:install': ServiceInstall,
  'service:uninstall': ServiceUninstall,
  'service:status': ServiceStatus,
  import: Import,
  search: Search,
  add: Add,
  remove: Remove,
  connect: Connect,
  disconnect: Disconnect,
  bundle: Bundle,
  doctor: Doctor,
  ps: Ps,
  start: Start,
  stop: Stop,
  restart: Restart,
  logs: Logs,
  reload: Reload,
  ...(await commandsOf(builtins)),
  'plugin:new': PluginNew,
  'key:new': KeyNew,
  errors: Errors,
  completion: Completion,
  help: Help,
}
