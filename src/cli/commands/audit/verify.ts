import { string } from '@oclif/core/args'
import { string as stringFlag } from '@oclif/core/flags'
import { GatewayCommand, JSON_FLAG } from '../../base-command.ts'

const SAID_NO = 5

export default class AuditVerify extends GatewayCommand {
  static override summary = 'Check that an audit with chain: true is what was written.'
  static override description =
    'Reads <file> and those set aside before it. Exit codes: 0 intact, 2 cannot be read, 5 changed.'
  static override examples = ['gateway audit verify audit.jsonl', 'gateway audit verify audit.jsonl --json']
  static override args = {
    file: string({ required: true, description: 'The newest file.', ignoreStdin: true }),
  }
  static override flags = {
    head: stringFlag({
      summary: 'A last hash that was noted before: lines after it may have been added, none taken away.',
    }),
    ...JSON_FLAG,
  }

  async run(): Promise<number> {
    const { args, flags } = await this.parse(AuditVerify)
    const { verificationLine, verifyAudit } = await import('../../remote/verify-audit.ts')
    const verification = await verifyAudit(args.file, { cwd: this.terminal.cwd, head: flags.head })
    if (flags.json) this.printJson(verification)
    else this.terminal.out.line(verificationLine(verification))
    return verification.isIntact ? 0 : SAID_NO
  }
}
