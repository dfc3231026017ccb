/** What the `audit` plugin wrote, checked without a gateway. */
export { verifyChain, type Verification } from '../../plugins/audit/verify.ts'
